import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { hasExited, indentLastLines, killChild, signalChild, spawnChild } from '../control-plane/child.ts';
import { freePort } from '../control-plane/ports.ts';

/** The services that a node of a Gitpod installation runs. */
export type StandInKind = 'ws-daemon' | 'registry-facade';
type AnyKind = StandInKind | 'http-service' | 'csi-driver';

export interface StandInOptions {
  /** Defaults to `127.0.0.1`. */
  readonly host?: string;
  /** Defaults to a free one. */
  readonly port?: number;
  /** More flags, such as `--http2` or `--cert-file=…`. */
  readonly args?: readonly string[];
  /** What runs it elsewhere, such as in the namespaces of a node: a command that becomes the one that it is given. */
  readonly within?: readonly string[];
}

interface StandInStats {
  /** Connections since the start. */
  readonly accepted: number;
  /** Connections now. */
  readonly open: number;
  /** HTTP requests since the start. */
  readonly requests: number;
}

export interface StandIn {
  readonly kind: AnyKind;
  readonly pid: number;
  readonly host: string;
  readonly port: number;
  /** Switches a fault, such as `refuse` or `slow 1500`; resolves when it is in force. @throws when there is none such. */
  fault(text: string): Promise<void>;
  stats(): Promise<StandInStats>;
  /** Sends the signal, and waits until the process stands still (SIGSTOP) or is gone; SIGCONT is not waited for. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Ends the process; may be called again. */
  stop(): Promise<void>;
}

const answerWithinMs = 15_000;

/** Starts a stand-in as a process of its own and waits until it listens. @throws with what it said when it ends before. */
export async function startStandIn(kind: AnyKind, options: StandInOptions = {}): Promise<StandIn> {
  const host = options.host ?? '127.0.0.1';
  const port = options.port ?? (await freePort());
  const file = join(import.meta.dirname, `${kind}.ts`);
  const flags = ['--host', host, '--port', String(port), '--exit-with-input', ...(options.args ?? [])];
  const [command = '', ...args] = [...(options.within ?? []), process.execPath, file, ...flags];
  const child = spawnChild(command, { args, stdio: ['pipe', 'pipe', 'pipe'] });
  const { stdin, stdout, stderr, pid } = child;
  if (stdin === null || stdout === null || stderr === null || pid === undefined) {
    await killChild(child);
    throw new Error(`stand-in ${kind} could not be started`);
  }
  let said = '';
  stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said = (said + chunk).slice(-5_000);
  });
  stdin.on('error', () => {});

  // It answers every line with one line, in order.
  const waiting: ((line: string | undefined) => void)[] = [];
  const lines = createInterface({ input: stdout });
  lines.on('line', (line) => waiting.shift()?.(line));
  lines.on('close', () => {
    for (const answer of waiting.splice(0)) answer(undefined);
  });

  async function nextLine(): Promise<string> {
    let timer: NodeJS.Timeout | undefined;
    const line = await new Promise<string | undefined>((resolve) => {
      if (hasExited(child)) return resolve(undefined);
      waiting.push(resolve);
      timer = setTimeout(() => resolve(undefined), answerWithinMs);
    });
    clearTimeout(timer);
    if (line !== undefined) return line;
    throw new Error(`stand-in ${kind} does not answer${said === '' ? '' : `; it said\n${indentLastLines(said)}`}`);
  }

  async function ask(line: string): Promise<string> {
    stdin?.write(`${line}\n`);
    return nextLine();
  }

  try {
    const ready = await nextLine();
    if (!ready.startsWith('ready ')) throw new Error(`stand-in ${kind} said "${ready}"`);
    return {
      kind,
      pid,
      host,
      port: Number(ready.slice('ready '.length)),
      async fault(text) {
        const answer = await ask(`fault ${text}`);
        if (!answer.startsWith('ok ')) throw new Error(`stand-in ${kind}: ${answer}`);
      },
      async stats() {
        return JSON.parse((await ask('stats')).replace(/^stats /, '')) as StandInStats;
      },
      kill: (signal) => signalChild(child, signal),
      stop: () => killChild(child),
    };
  } catch (error) {
    await killChild(child);
    throw error;
  }
}
