import { machine, release } from 'node:os';
import { baseboard, cpu, mem, system } from 'systeminformation';
import { readMachineFiles } from './machine-files.ts';
import { selectFacts } from './select-facts.ts';

/**
 * A program of its own: prints the facts as JSON, and ends. These four functions read files and ask lscpu, dmidecode
 * and dmesg where they are. `osInfo()` is not among them because it waits for DNS (`hostname -f`), nor is anything that
 * talks to devices.
 */
async function printFacts(): Promise<void> {
  const [cpuData, memory, systemData, board] = await Promise.all([cpu(), mem(), system(), baseboard()]);
  const facts = selectFacts({
    cpu: cpuData,
    memory,
    system: systemData,
    board,
    files: readMachineFiles('/'),
    kernel: release(),
    architecture: machine(),
  });
  // An end by itself could wait for a helper that hangs.
  process.stdout.write(JSON.stringify(facts), () => process.exit());
}

void printFacts();
