import { systemClock } from '@rollcall/common/clock.ts';
import { type Logger, silentLogger } from '@rollcall/common/logging.ts';
import type { KubeClient } from '@rollcall/coordinator/kube/client.ts';
import { createKubeClient } from '@rollcall/coordinator/kube/https-client.ts';
import { fileAccess } from '@rollcall/coordinator/kube/kube-config.ts';
import type { KubeObject } from '@rollcall/coordinator/kube/objects.ts';
import { createReflector, type Reflector, type ReflectorOptions } from '@rollcall/coordinator/kube/reflector.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';

export type CountingClient = KubeClient & {
  /** Answers such as `list 200`, in order. */
  answers: string[];
};

/** A client of the product, as the admin or as `kubeconfig` says, at `url` if that is not the API server's own. */
export function connect(
  controlPlane: ControlPlane,
  options: { kubeconfig?: string; url?: string } = {},
): CountingClient {
  const kubeconfig = options.kubeconfig ?? controlPlane.kubeconfig;
  const answers: string[] = [];
  const client = createKubeClient(fileAccess({ kubeconfig, master: options.url ?? '' }), {
    userAgent: 'rollcall-coordinator/test',
    maxSockets: 8,
    clock: systemClock,
    onAnswer: (verb, code) => answers.push(`${verb} ${code}`),
  });
  return {
    answers,
    request: (request) => client.request(request),
    stream: (request, onObject) => client.stream(request, onObject),
    close: () => client.close(),
  };
}

/** What a reflector's handlers were told, put together. */
export class Mirror {
  readonly objects = new Map<string, KubeObject>();
  readonly outages: number[] = [];
  readonly restarts: string[] = [];
  readonly reflector: Reflector;
  replaces = 0;
  upserts = 0;
  #running: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();

  constructor(client: KubeClient, path: string, options: Partial<ReflectorOptions<KubeObject>> = {}) {
    const key = ({ metadata }: KubeObject) => `${metadata.namespace ?? ''}/${metadata.name}`;
    this.reflector = createReflector<KubeObject>({
      client,
      path,
      clock: systemClock,
      random: Math.random,
      logger: silentLogger(),
      signal: this.#stop.signal,
      handlers: {
        onReplace: (objects) => {
          this.replaces += 1;
          this.objects.clear();
          for (const object of objects) this.objects.set(key(object), object);
        },
        onUpsert: (object) => {
          this.upserts += 1;
          this.objects.set(key(object), object);
        },
        onDelete: (object) => this.objects.delete(key(object)),
      },
      onRecovered: (outageMs) => this.outages.push(outageMs),
      metrics: { watchEvent: () => {}, watchRestarted: (_resource, reason) => this.restarts.push(reason) },
      ...options,
    });
    this.#running = this.reflector.run();
  }

  /** Sorted `name=resourceVersion`. */
  contents(): string[] {
    return contentsOf([...this.objects.values()]);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

export function contentsOf(objects: { metadata: { name: string; resourceVersion?: string } }[]): string[] {
  return objects.map(({ metadata }) => `${metadata.name}=${metadata.resourceVersion}`).sort();
}

/** A logger that keeps its warnings. */
export function warningLogger(): { logger: Logger; warnings: Record<string, unknown>[] } {
  const warnings: Record<string, unknown>[] = [];
  const logger = silentLogger();
  logger.warn = ((fields: Record<string, unknown>) => warnings.push(fields)) as Logger['warn'];
  return { logger, warnings };
}
