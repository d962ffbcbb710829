import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { Registry } from '@rollcall/common/metrics.ts';
import { NodeWriter } from './apply/node-writer.ts';
import { Reconciler } from './apply/reconciler.ts';
import { SetAside } from './apply/set-aside.ts';
import { Fleet } from './fleet/fleet.ts';
import { intentOf, type NodeIntent } from './intent/intent.ts';
import type { NodePlan } from './intent/plan.ts';
import { planNode } from './intent/plan-node.ts';
import type { KubeClient, WriteFence } from './kube/client.ts';
import type { ObjectMeta } from './kube/objects.ts';
import type { Labeler } from './labelers/labeler.ts';
import type { Service } from './services.ts';

export type DeciderOptions = {
  client: KubeClient;
  fence: WriteFence;
  services: readonly Service[];
  labelers: readonly Labeler[];
  poolLabels: readonly string[];
  windowMs: number;
  guardPercent: number;
  dryRun: boolean;
  /** Whether what is known is fit to decide by; until then nothing is planned. */
  mayDecide: () => boolean;
  clock: Clock;
  random: () => number;
  logger: Logger;
  registry: Registry;
  onAgentPodGone: (podUid: string) => void;
};

/** The way from what is known to what is written: fleet, labelers, intent, and the reconciler that carries it out. */
export class Decider {
  readonly fleet: Fleet;
  readonly reconciler: Reconciler;
  readonly #options: DeciderOptions;
  readonly #setAside: SetAside;

  constructor(options: DeciderOptions) {
    const { clock, client } = options;
    this.#options = options;
    this.#setAside = new SetAside(clock);
    this.fleet = new Fleet({
      ...options,
      onDirty: (node, urgent) => this.#look(node, urgent),
      onNodeGone: (node) => this.reconciler.forget(node),
    });
    this.reconciler = new Reconciler({
      ...options,
      plan: (node) => this.plan(node),
      observed: (node) => this.fleet.node(node),
      onWritten: (node, metadata) => this.#written(node, metadata),
      writer: new NodeWriter(client),
      setAside: this.#setAside,
    });
  }

  /** What has to be written to a node now; `undefined` when it is as it should be, or is not known. */
  plan(name: string): NodePlan | undefined {
    const node = this.fleet.node(name);
    const intent = this.#intent(name);
    if (!node || !intent || !this.#options.mayDecide()) return undefined;
    return this.#setAside.consult(node, (askSetAside) => planNode(node, intent, askSetAside));
  }

  #intent(name: string): NodeIntent | undefined {
    const snapshot = this.fleet.snapshot(name);
    return snapshot && intentOf(this.#options.labelers, snapshot);
  }

  #look(node: string, urgent: boolean): void {
    this.reconciler.add(node, {
      priority: urgent ? 'urgent' : 'normal',
      dirtySinceMs: this.#options.clock.monotonic(),
    });
  }

  /** Takes the answer to a write, and says in the log which of our labels it changed, and why. */
  #written(name: string, metadata: ObjectMeta): void {
    const before = this.fleet.node(name)?.labels ?? {};
    const intent = this.#intent(name);
    this.fleet.written({ metadata });
    for (const [, { kind, key, reason }] of intent ?? []) {
      const value = metadata.labels?.[key];
      if (kind !== 'label' || before[key] === value) continue;
      const message = value === undefined ? 'Withdrew a label' : 'Set a label';
      this.#options.logger.info({ node: name, label: key, value, reason }, message);
    }
  }
}
