import type { KubeConfig } from '@kubernetes/client-node';
import { describeError } from '@rollcall/common/coded-error.ts';
import { CommandFailure } from '../failure.ts';
import { exchange } from './exchange.ts';
import { KubeApi, KubeApiError } from './kube-api.ts';
import { findLeader, type Leader, unreachable } from './leader.ts';
import { type Forwarded, forwardPort } from './port-forward.ts';
import { readConfig } from './read-config.ts';

const DEFAULT_PORT = 8090;
const TIMEOUT_MS = 30_000;

/** The console of the coordinator that leads. */
export type Console = {
  url: string;
  /** All methods throw a CommandFailure where the console does not answer with a document. */
  get: <T>(path: string) => Promise<T>;
  /** `undefined` if the console does not know the object (404). */
  find: <T>(path: string) => Promise<T | undefined>;
  post: <T>(path: string, body: unknown) => Promise<T>;
  close: () => void;
};

export type ConsoleFlags = { consoleUrl?: string | undefined; namespace: string; port?: number };

/** By `--console-url`, or by a port-forward to the leader. */
export async function openConsole(kubeConfig: () => KubeConfig, flags: ConsoleFlags): Promise<Console> {
  const { consoleUrl, namespace, port } = flags;
  if (consoleUrl !== undefined)
    return consoleAt({ url: consoleUrl.replace(/\/+$/, ''), close: () => {} }, () => undefined);
  const config = kubeConfig();
  const kube = new KubeApi(config);
  const leader = await findLeader(kube, namespace, Date.now());
  const target = { ...leader, port: await consolePort(kube, leader) };
  let problem: string | undefined;
  const onError = (reason: string) => {
    problem = reason;
  };
  const forwarded = await forwardPort(config, target, { ...(port === undefined ? {} : { port }), onError });
  return consoleAt(forwarded, () => problem && `port-forward to pod ${namespace}/${leader.pod}: ${problem}`);
}

type Pod = { spec?: { containers?: { args?: string[] }[] } };

/** The pod or its file says where it listens, if it is told otherwise than by default. */
async function consolePort(kube: KubeApi, { namespace, pod }: Leader): Promise<number> {
  try {
    const { spec } = await kube.get<Pod>(
      `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}`,
    );
    const args = spec?.containers?.flatMap((container) => container.args ?? []) ?? [];
    const listen = args.find((arg) => arg.startsWith('--console-listen=')) ?? (await listenInFile(kube, namespace));
    return Number(/:(\d+)$/.exec(listen)?.[1] ?? DEFAULT_PORT);
  } catch (cause) {
    if (cause instanceof KubeApiError && cause.status === 404) {
      const cure =
        'try again: another replica takes over within seconds; if rollcall runs outside of the cluster, pass --console-url';
      throw new CommandFailure(`The leader ${pod} is not a pod in ${namespace}`, cure, { cause });
    }
    // Who may not read pods may be allowed to forward a port all the same.
    if (cause instanceof KubeApiError) return DEFAULT_PORT;
    throw unreachable(cause);
  }
}

/** Empty where the file says nothing, or may not be read. */
async function listenInFile(kube: KubeApi, namespace: string): Promise<string> {
  const config: Record<string, unknown> = await readConfig(kube, namespace).catch(() => ({}));
  return String(config['consoleListen'] ?? '');
}

function consoleAt({ url, close }: Forwarded, problem: () => string | undefined): Console {
  const ask = async <T>(method: string, path: string, body?: unknown): Promise<T | undefined> => {
    let answer: Awaited<ReturnType<typeof exchange>>;
    try {
      const asked = body === undefined ? undefined : JSON.stringify(body);
      answer = await exchange(new URL(`${url}${path}`), { method, agent: false, timeoutMs: TIMEOUT_MS, body: asked });
    } catch (cause) {
      const reason = problem() ?? describeError(cause);
      throw new CommandFailure(`The console does not answer: ${reason}`, consoleCure(reason), { cause });
    }
    if (answer.status === 404) return undefined;
    if (answer.status === 200) return parsed<T>(answer.text);
    throw new CommandFailure(
      `The console answered ${answer.status}: ${detailOf(answer.text)}`,
      'try again in a moment',
    );
  };
  const get = async <T>(...request: Parameters<typeof ask>) => {
    const document = await ask<T>(...request);
    if (document === undefined) throw noConsole();
    return document;
  };
  return {
    url,
    get: (path) => get('GET', path),
    find: (path) => ask('GET', path),
    post: (path, body) => get('POST', path, body),
    close,
  };
}

/** Every document names the replica that made it. */
function parsed<T>(text: string): T {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw noConsole({ cause });
  }
  if (document === null || typeof document !== 'object' || !('replica' in document)) throw noConsole();
  return document as T;
}

function noConsole(options: { cause?: unknown } = {}): CommandFailure {
  return new CommandFailure('The answer does not come from a console of rollcall', 'check --console-url', options);
}

function consoleCure(reason: string): string {
  if (/forbidden|403/i.test(reason)) {
    return 'ask for the right to create pods/portforward in the namespace of rollcall, or pass --console-url';
  }
  return 'check that the pod runs and that --console-listen is not "off", or pass --console-url';
}

function detailOf(text: string): string {
  try {
    return (JSON.parse(text) as { detail?: string }).detail ?? text;
  } catch {
    return text.slice(0, 200);
  }
}
