import type { ApiClient } from '../control-plane/api-client.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { watchNodes } from '../control-plane/watch.ts';

export type LabelChange = {
  /** Monotonic milliseconds (`performance.now`). */
  atMs: number;
  node: string;
  key: string;
  from: string | undefined;
  to: string | undefined;
};

/** Every change of a label on any Node, as the API server tells it. */
export class LabelHistory {
  readonly changes: LabelChange[] = [];
  readonly #labels = new Map<string, Record<string, string>>();
  readonly #stop: () => void;
  onChange: ((change: LabelChange) => void) | undefined;

  constructor(client: ApiClient) {
    this.#stop = watchNodes(client, ({ type, object }) => {
      const { name, labels = {} } = object.metadata;
      if (type === 'DELETED') return void this.#labels.delete(name);
      if (type !== 'ADDED' && type !== 'MODIFIED') return;
      const before = this.#labels.get(name) ?? {};
      this.#labels.set(name, labels);
      for (const key of new Set([...Object.keys(before), ...Object.keys(labels)])) {
        if (before[key] === labels[key]) continue;
        const change = { atMs: performance.now(), node: name, key, from: before[key], to: labels[key] };
        this.changes.push(change);
        this.onChange?.(change);
      }
    });
  }

  labels(node: string): Readonly<Record<string, string>> {
    return this.#labels.get(node) ?? {};
  }

  /** Changes of one key on one node, or of all nodes, since a moment. */
  since(atMs: number, key: string, node?: string): LabelChange[] {
    return this.changes.filter(
      (change) => change.atMs >= atMs && change.key === key && (node === undefined || change.node === node),
    );
  }

  /** Waits until a label has a value (`undefined`: is absent). */
  async until(node: string, key: string, value: string | undefined, timeoutMs = 20_000): Promise<void> {
    const wanted = value === undefined ? 'absent' : `"${value}"`;
    await waitFor(`label ${key} of ${node} to be ${wanted}`, () => this.labels(node)[key] === value, {
      timeoutMs,
      everyMs: 5,
    });
  }

  stop(): void {
    this.#stop();
  }
}
