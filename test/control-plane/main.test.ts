import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, it } from 'vitest';
import { isAlive } from './file-lock.ts';
import { waitFor } from './wait-for.ts';

const main = join(import.meta.dirname, 'main.ts');
const spawned: ChildProcess[] = [];

afterEach(() => {
  for (const child of spawned.splice(0)) child.kill('SIGKILL');
});

interface Running {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly dir: string;
  readonly components: number[];
}

/** Starts the command line, by itself or below a shell, and waits until it says that the control plane runs. */
async function run(command: string, args: string[]): Promise<Running> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  spawned.push(child);
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const dir = dirname(line.replace('export KUBECONFIG=', ''));
  const pid = Number(/rollcall-control-plane-(\d+)-/.exec(dir)?.[1]);
  return { child, pid, dir, components: childrenOf(pid) };
}

function childrenOf(parent: number): number[] {
  const numbers = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  return numbers.map(Number).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1] === String(parent);
    } catch {
      return false;
    }
  });
}

describe.skipIf(process.platform !== 'linux')('the command line', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`ends everything at ${signal}`, async () => {
      const { child, dir, components } = await run(process.execPath, [main]);
      expect(components).toHaveLength(2);
      child.kill(signal);
      await once(child, 'exit');
      expect(child.exitCode).toBe(0);
      expect(components.filter(isAlive)).toEqual([]);
      expect(existsSync(dir)).toBe(false);
    });
  }

  it('takes its components along when it is killed outright', async () => {
    const { child, dir, components } = await run(process.execPath, [main]);
    expect(components).toHaveLength(2);
    child.kill('SIGKILL');
    await waitFor('the components to be gone', () => components.every((pid) => !isAlive(pid)));
    // No process was left to do it; the next start would, ten minutes later.
    rmSync(dir, { recursive: true });
  });

  it('stops when the process that started it is gone', async () => {
    const { child, pid, dir, components } = await run('sh', ['-c', `"${process.execPath}" "${main}"; true`]);
    expect(pid).not.toBe(child.pid);
    child.kill('SIGKILL');
    await waitFor('all to be gone', () => [pid, ...components].every((each) => !isAlive(each)));
    expect(existsSync(dir)).toBe(false);
  });
});
