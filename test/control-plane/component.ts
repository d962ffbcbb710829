import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasExited, lastLines, signalChild, spawnChild } from './child.ts';

export interface ComponentSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly cwd: string;
  /** Defaults to this process's. */
  readonly env?: NodeJS.ProcessEnv;
  /** Called again and again after the start; an error counts as no. */
  readonly isReady: () => Promise<boolean>;
}

/** A component that could not listen because another process took its port in between. */
export class PortTakenError extends Error {}

const readyWithinMs = 90_000;
const askEveryMs = 25;

/** One process of the control plane, which can be killed and started again with the same arguments. */
export class Component {
  readonly spec: ComponentSpec;
  #child: ChildProcess | undefined;

  constructor(spec: ComponentSpec) {
    this.spec = spec;
  }

  /** `undefined` while it does not run. */
  get pid(): number | undefined {
    return this.#child === undefined || hasExited(this.#child) ? undefined : this.#child.pid;
  }

  /** Starts it and waits until it is ready. @throws with the last lines of its log when it ends or takes over 90 s. */
  async start(): Promise<void> {
    if (this.pid !== undefined) throw new Error(`${this.spec.name} is running already`);
    const { name, command, args, logFile, cwd, env, isReady } = this.spec;
    const child = spawnChild(command, { args, logFile, cwd, ...(env === undefined ? {} : { env }) });
    this.#child = child;
    const deadline = Date.now() + readyWithinMs;
    while (!(await isReady().catch(() => false))) {
      if (hasExited(child)) {
        const log = await readFile(logFile, 'utf8').catch(() => '');
        const text = `${name} ended (${child.signalCode ?? child.exitCode ?? 'not started'}) before it was ready; its log ends with\n${await lastLines(logFile)}`;
        throw log.includes('address already in use') ? new PortTakenError(text) : new Error(text);
      }
      if (Date.now() > deadline) {
        throw new Error(
          `${name} was not ready in ${readyWithinMs / 1000} s; its log ends with\n${await lastLines(logFile)}`,
        );
      }
      await sleep(askEveryMs);
    }
    if (hasExited(child)) throw new Error(`${name} ended as soon as it was ready`);
  }

  /** Sends the signal, and waits until the process stands still (SIGSTOP), goes on (SIGCONT), or is gone. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || hasExited(child)) return;
    await signalChild(child, signal);
  }

  /** Kills it, should it run, and starts it again. */
  async restart(): Promise<void> {
    await this.kill('SIGKILL');
    await this.start();
  }
}
