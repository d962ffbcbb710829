import type { NodeCondition } from '@rollcall/coordinator/kube/objects.ts';
import type { ApiClient } from '../../control-plane/api-client.ts';
import type { NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { watchNodes } from '../../control-plane/watch.ts';

/** A condition that became another, or came, or went. */
export type ConditionChange = {
  /** Monotonic milliseconds (`performance.now`). */
  atMs: number;
  node: string;
  type: string;
  to: NodeCondition | undefined;
};

/** Every change of a condition on any Node, as the API server tells it. */
export class ConditionHistory {
  readonly changes: ConditionChange[] = [];
  readonly #conditions = new Map<string, Map<string, NodeCondition>>();
  readonly #stop: () => void;

  constructor(client: ApiClient) {
    this.#stop = watchNodes(client, ({ type: event, object }) => {
      if (event !== 'ADDED' && event !== 'MODIFIED') return;
      const node = object.metadata.name;
      const { conditions = [] } = (object as NodeObject).status as { conditions?: NodeCondition[] };
      const before = this.#conditions.get(node) ?? new Map<string, NodeCondition>();
      const now = new Map(conditions.map((each) => [each.type, each]));
      this.#conditions.set(node, now);
      for (const type of new Set([...before.keys(), ...now.keys()])) {
        const to = now.get(type);
        if (JSON.stringify(before.get(type)) === JSON.stringify(to)) continue;
        this.changes.push({ atMs: performance.now(), node, type, to });
      }
    });
  }

  of(node: string, type: string): NodeCondition | undefined {
    return this.#conditions.get(node)?.get(type);
  }

  /** Changes of one type on one node, or on all, since a moment. */
  since(atMs: number, type: string, node?: string): ConditionChange[] {
    return this.changes.filter(
      (each) => each.atMs >= atMs && each.type === type && (node === undefined || each.node === node),
    );
  }

  /** Waits until a condition has a status (`undefined`: is absent). */
  async until(node: string, type: string, status: string | undefined): Promise<void> {
    await waitFor(`${type} of ${node} to be ${status}`, () => this.of(node, type)?.status === status, {
      timeoutMs: 30_000,
      everyMs: 5,
    });
  }

  stop(): void {
    this.#stop();
  }
}
