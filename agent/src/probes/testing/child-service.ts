import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ProbeTarget } from '@rollcall/common/report.ts';
import type { ServiceKind } from './servers.ts';

const PROGRAM = fileURLToPath(new URL('./service-process.ts', import.meta.url));

export type ChildService = ProbeTarget & {
  /** SIGKILL ends it without a word; SIGSTOP lets it hang while the kernel goes on completing handshakes. */
  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void;
  /** Kills it, whatever state it is in, and waits until it is gone. */
  end(): Promise<void>;
};

/** A service in a process of its own on the loopback address or at a file, so that it can be killed and stopped. */
export async function startChildService(kind: ServiceKind, backlog = 511, file?: string): Promise<ChildService> {
  const args = [PROGRAM, kind, String(backlog), ...(file === undefined ? [] : [file])];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const [firstLine] = await Promise.race([
    once(child.stdout, 'data'),
    exited.then(() => Promise.reject(new Error('The child ended before it listened'))),
  ]);
  return {
    host: '127.0.0.1',
    port: Number(String(firstLine)),
    signal: (name) => void child.kill(name),
    end: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
