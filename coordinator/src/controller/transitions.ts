import type { ActiveGuard } from '@rollcall/common/guards.ts';
import type { ContestedKey, SkippedKey } from '../decide/intent/plan.ts';
import type { EvaluatedNode } from '../decide/labelers/labeler.ts';
import { shownReady } from '../decide/shown-ready.ts';
import type { Service } from '../model/services.ts';
import type { NodeRecord } from '../state/node-record.ts';
import type { ObservedNode } from '../state/observed-node.ts';
import type { NodeSnapshot } from '../state/snapshot.ts';
import type { Term } from '../state/term.ts';

type NodeId = { name: string; uid: string };
/** One type for each kind, so that a kind tells what else there is. */
type Of<K extends string, T> = K extends string ? { kind: K } & T : never;

/**
 * What happened to a node, or to the fleet.
 *
 * - `ready`, `not-ready`: the Node shows it of a service since a write, and the evidence says the same. `isFirst`: for the
 *   first time in this term, on a node that is new in it
 * - `held-back`: a service became not ready too often, and counts as not ready for a while
 * - `late`: a service was never ready on a node, and its startup deadline is over
 * - `gate-opened`: the startup taint was removed, at last without what is missing
 * - `gate-waits`: a node has waited for long at the startup gate, or as long as it should (`isOver`), and waits on
 * - `contested`: a key does not stay as it is written
 * - `left-alone`: a key is not written, because another writer has it
 */
export type Transition =
  | Of<'ready' | 'not-ready', { node: EvaluatedNode; service: Service; reason: string; isFirst: boolean }>
  | Of<'held-back' | 'late', { node: EvaluatedNode; service: Service }>
  | { kind: 'gate-opened'; node: NodeSnapshot; missing: readonly string[] }
  | { kind: 'gate-waits'; node: NodeId; missing: readonly string[]; isOver: boolean }
  | { kind: 'contested'; node: NodeId; key: ContestedKey }
  | { kind: 'left-alone'; node: NodeId; key: Pick<SkippedKey, 'kind' | 'key' | 'message'> }
  | Of<'guard-active' | 'guard-cleared', { guard: ActiveGuard }>;

/** What was shown of a node: of each service whether it is ready, and the services that were ready in this term. */
type Shown = { ready: Map<string, boolean>; started: Set<string> };

/** Finds what changed since it was last asked, within a term. */
export class Transitions {
  readonly #services: () => readonly Service[];
  readonly #shown = new WeakMap<NodeRecord, Shown>();
  /** The guards that acted, by what and whom they are about. */
  readonly #guards = new WeakMap<Term, ReadonlyMap<string, ActiveGuard>>();

  constructor(services: () => readonly Service[]) {
    this.#services = services;
  }

  /** Notes what a Node shows when it is first seen in a term: what came before is no transition. */
  firstSeen(record: NodeRecord, observed: ObservedNode, evaluated: EvaluatedNode): void {
    if (!this.#shown.has(record)) this.shown(record, observed, evaluated);
  }

  /**
   * Compares what a Node shows, after a write, with what it showed before. Restoring a key that another client changed is
   * no transition, because the evidence stayed as it was.
   */
  shown(record: NodeRecord, observed: ObservedNode, evaluated: EvaluatedNode): Transition[] {
    const { ready: before, started } = this.#shown.get(record) ?? { ready: new Map(), started: new Set() };
    this.#shown.set(record, { ready: before, started });
    return this.#services().flatMap((service): Transition[] => {
      const { name } = service;
      const ready = shownReady(observed, service);
      const was = before.get(name);
      const evidence = evaluated.readiness.get(name);
      if (was === undefined) {
        before.set(name, ready);
        // A new node does not have the taint yet that shows that it is not ready.
        if (ready && evidence?.state !== 'not-ready') started.add(name);
      }
      if (was === undefined || was === ready || evidence?.state !== (ready ? 'ready' : 'not-ready')) return [];
      before.set(name, ready);
      const isFirst = ready && record.isNew && !started.has(name);
      if (ready) started.add(name);
      return [{ kind: evidence.state, node: evaluated, service, reason: evidence.reason, isFirst }];
    });
  }

  /** Compares the guards that act now with those that acted before in this term. */
  guards(term: Term, active: readonly ActiveGuard[]): Transition[] {
    const before = this.#guards.get(term) ?? new Map<string, ActiveGuard>();
    const now = new Map(active.map((guard) => [`${guard.subject} ${guard.of}`, guard]));
    this.#guards.set(term, now);
    const others = (all: ReadonlyMap<string, ActiveGuard>, than: ReadonlyMap<string, ActiveGuard>) =>
      [...all].flatMap(([id, guard]) => (than.has(id) ? [] : [guard]));
    return [
      ...others(now, before).map((guard): Transition => ({ kind: 'guard-active', guard })),
      ...others(before, now).map((guard): Transition => ({ kind: 'guard-cleared', guard })),
    ];
  }
}
