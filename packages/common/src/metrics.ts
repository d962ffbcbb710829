import { readdirSync } from 'node:fs';
import { Counter, Gauge, Registry } from 'prom-client';
import { droppedLogLines } from './log-output.ts';
import { VERSION } from './version.ts';

export { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** A registry of one program, with its build information and what every process should show of itself. */
export function createRegistry(prefix: 'rollcall_agent' | 'rollcall_coordinator'): Registry {
  const registry = new Registry();
  const registers = [registry];
  new Gauge({
    name: `${prefix}_build_info`,
    help: 'Constant 1, labelled with the version of rollcall and of Node.js.',
    labelNames: ['version', 'node_version'],
    registers,
  }).set({ version: VERSION, node_version: process.version }, 1);
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory size in bytes.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'User and system CPU time spent, in seconds.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  new Gauge({
    name: 'process_open_fds',
    help: 'Number of open file descriptors.',
    registers,
    collect() {
      const open = openFileDescriptors();
      if (open !== undefined) this.set(open);
    },
  });
  new Counter({
    name: `${prefix}_log_lines_dropped_total`,
    help: 'Log lines that were dropped because the output was blocked or failed.',
    registers,
    collect() {
      this.reset();
      this.inc(droppedLogLines());
    },
  });
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'Start time of the process, in seconds since the epoch.',
    registers,
  }).set(Math.round(Date.now() / 1000 - process.uptime()));
  return registry;
}

/** `undefined` where the system does not tell, or none is left to ask with. */
function openFileDescriptors(): number | undefined {
  try {
    // The one that reads the directory is among them.
    return readdirSync('/proc/self/fd').length - 1;
  } catch {
    return undefined;
  }
}
