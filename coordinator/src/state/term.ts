import type { DeviceReport } from '@rollcall/common/report.ts';
import type { ConditionCheck, ProbeCheck } from '../model/services.ts';
import { AgentSessions } from './agent-sessions.ts';
import type { Doubts } from './doubts.ts';
import { type FreshnessOptions, FreshnessTracker } from './freshness.ts';
import { createIntern } from './intern.ts';
import { Machines } from './machines.ts';
import { NodeRecord } from './node-record.ts';
import type { AgentSigns } from './presence.ts';
import { doubtsOfReporters, type ReportersOptions } from './reporters.ts';
import { doubtsOfTargets, type SharedFaultsOptions } from './shared-faults.ts';

type BeginningNode = Pick<NodeRecord, 'name' | 'uid' | 'cameMs' | 'isNew'> & { pool: string | undefined };

export type TermOptions = FreshnessOptions & ReportersOptions & Omit<SharedFaultsOptions, 'isKnown'>;

/**
 * What is heard between the moment when this replica begins to lead and the moment when it begins again: one record for
 * each Node. It is made anew for each term, so that nothing of it has to be cleared.
 */
export class Term {
  readonly freshness: FreshnessTracker;
  readonly reporters: Doubts<ConditionCheck>;
  readonly targets: Doubts<ProbeCheck>;
  readonly machines = new Machines();
  /** The machines of a fleet are much alike. */
  readonly #internDevice = createIntern<DeviceReport>();
  readonly #records = new Map<string, NodeRecord>();
  readonly #windowMs: number;
  readonly #beganMs: number;

  /** `nowMs` by the monotonic clock. */
  constructor(options: TermOptions, nowMs: number) {
    this.#windowMs = options.windowMs;
    this.#beganMs = nowMs;
    this.freshness = new FreshnessTracker(options, () => this.records(), nowMs);
    this.reporters = doubtsOfReporters(options, () => this.records());
    this.targets = doubtsOfTargets({ ...options, isKnown: () => this.freshness.isKnown }, () => this.records());
  }

  /** Whether agents that were not heard yet may only not have had the time. `nowMs` by the monotonic clock. */
  isYoung(nowMs: number): boolean {
    return nowMs - this.#beganMs < this.#windowMs;
  }

  record(name: string): NodeRecord | undefined {
    return this.#records.get(name);
  }

  records(): Iterable<NodeRecord> {
    return this.#records.values();
  }

  /** A Node is there, with this uid. */
  begin(node: BeginningNode, agent: AgentSigns, nowMs: number): void {
    this.end(node.name);
    const sessions = new AgentSessions(this.#windowMs, this.#internDevice);
    const presence = this.freshness.begin(node.pool, agent, nowMs);
    this.#records.set(node.name, new NodeRecord({ ...node, sessions, presence }));
  }

  /** The Node is gone. */
  end(name: string): void {
    const record = this.#records.get(name);
    if (!record) return;
    this.#records.delete(name);
    record.ended = true;
  }

  /** Another term begins. */
  over(): void {
    for (const record of this.#records.values()) record.ended = true;
  }
}
