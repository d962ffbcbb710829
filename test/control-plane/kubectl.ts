import { exitOf, spawnChild } from './child.ts';

export interface KubectlSetup {
  readonly command: string;
  readonly kubeconfig: string;
  /** kubectl keeps its discovery cache below it. */
  readonly home: string;
}

/** Runs kubectl and returns its standard output. @throws with its standard error when it does not end with 0. */
export async function runKubectl(setup: KubectlSetup, args: readonly string[], stdin?: string): Promise<string> {
  const child = spawnChild(setup.command, {
    args,
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    env: { HOME: setup.home, KUBECONFIG: setup.kubeconfig, PATH: '/usr/local/bin:/usr/bin:/bin' },
  });
  let out = '';
  let err = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    out += chunk;
  });
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    err += chunk;
  });
  // kubectl may end without reading all of it.
  child.stdin?.on('error', () => {}).end(stdin);
  const closed = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
  });
  await exitOf(child);
  if (child.pid !== undefined) await closed;
  if (child.exitCode === 0) return out;
  throw new Error(`kubectl ${args.join(' ')} ended with ${child.signalCode ?? child.exitCode}: ${err.trim()}`);
}
