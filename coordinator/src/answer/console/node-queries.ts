import type { Clock } from '@rollcall/common/clock.ts';
import type { Decision, Evaluator } from '../../decide/evaluator.ts';
import type { ChangeLog, DatedChange } from '../../decide/intent/changes.ts';
import type { Fleet } from '../../state/fleet.ts';
import type { LeftOutKey, SkippedKeys } from '../../write/skipped-keys.ts';

export type NodeQueriesOptions = {
  fleet: Fleet;
  evaluator: Evaluator;
  skipped: SkippedKeys;
  changes: ChangeLog;
  /** Whether what is known is fit to decide by; until then nothing is planned. */
  mayDecide: () => boolean;
  clock: Clock;
};

/** Everything about one node, for people. */
export type NodeFacts = Pick<Decision, 'node' | 'evaluated' | 'intent' | 'plan'> & {
  skipped: readonly LeftOutKey[];
  changes: readonly DatedChange[];
  /** Since the last report, in milliseconds. */
  quietMs: number | undefined;
};

/** Answers queries about nodes. Changes nothing. */
export class NodeQueries {
  readonly fleet: Fleet;
  readonly #options: NodeQueriesOptions;

  constructor(options: NodeQueriesOptions) {
    this.fleet = options.fleet;
    this.#options = options;
  }

  /** Sorted. */
  names(): string[] {
    return this.fleet.nodeNames().toSorted();
  }

  decide(name: string): Decision | undefined {
    return this.#options.evaluator.decide(name);
  }

  /** The pending write of a node; `undefined` if there is none, or another replica decides. */
  planOf({ plan }: Pick<Decision, 'plan'>): Decision['plan'] {
    return this.#options.mayDecide() ? plan : undefined;
  }

  skippedOn(name: string): readonly LeftOutKey[] {
    return this.#options.skipped.keysFor(name);
  }

  explain(name: string): NodeFacts | undefined {
    const { changes, clock } = this.#options;
    const decision = this.decide(name);
    if (!decision) return undefined;
    const { record, node, evaluated, intent } = decision;
    return {
      node,
      evaluated,
      intent,
      skipped: this.skippedOn(name),
      plan: this.planOf(decision),
      changes: changes.of(record),
      quietMs: this.fleet.freshness.quietMs(record, clock.monotonic()),
    };
  }
}
