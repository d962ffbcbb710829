import { REGISTRY_FACADE, readyLabel, WS_DAEMON } from '@rollcall/common/well-known.ts';
import type { ApiClient } from '../control-plane/api-client.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { watchNodes } from '../control-plane/watch.ts';
import { SERVICES_NAMESPACE } from './fleet-objects.ts';

export const READY_LABELS = [WS_DAEMON, REGISTRY_FACADE].map((service) => readyLabel(service, SERVICES_NAMESPACE));

/** Which Nodes have both labels, none or one of them, and since when, as a watch of the API server tells it. */
export class ReadyNodes {
  readonly #labels = new Map<string, { count: number; sinceMs: number }>();
  /** Names of Nodes that lost one of the labels or both, once for each time. */
  readonly withdrawn: string[] = [];
  readonly #stop: () => void;

  constructor(client: ApiClient) {
    this.#stop = watchNodes(client, ({ type, object }) => {
      if (type !== 'ADDED' && type !== 'MODIFIED') return;
      const { name, labels = {} } = object.metadata;
      const count = READY_LABELS.filter((key) => labels[key] === 'true').length;
      const before = this.#labels.get(name)?.count;
      if (before !== undefined && count < before) this.withdrawn.push(name);
      if (before !== count) this.#labels.set(name, { count, sinceMs: performance.now() });
    });
  }

  /** When the number of labels on the Node last changed, in monotonic milliseconds. */
  sinceMs(name: string): number {
    return this.#labels.get(name)?.sinceMs ?? Number.NaN;
  }

  /** Waits until each of these Nodes has so many of the two labels. Returns when the last of them came to it. */
  async until(names: readonly string[], labels: 0 | 1 | 2, timeoutMs: number): Promise<number> {
    const missing = new Set(names);
    const check = () => {
      for (const name of missing) if (this.#labels.get(name)?.count === labels) missing.delete(name);
      return missing.size === 0;
    };
    await waitFor(`${names.length} nodes with ${labels} labels`, check, { timeoutMs }).catch((cause: unknown) => {
      throw new Error(`${missing.size} of ${names.length} nodes did not come to ${labels} labels`, { cause });
    });
    return Math.max(...names.map((name) => this.sinceMs(name)));
  }

  stop(): void {
    this.#stop();
  }
}
