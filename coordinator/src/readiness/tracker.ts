import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import type { NodeSnapshot } from '../fleet/snapshot.ts';
import type { Service } from '../services.ts';
import { afterFall, type Damping, UNDAMPED } from './damping.ts';
import { judgeService, type Verdict } from './verdict.ts';

/** Both clocks at one moment, in milliseconds: the first for durations, the second for people. */
export type Moment = { monotonicMs: number; wallMs: number };

/** What is to be shown of a service on a node. */
export type ServiceReadiness = Verdict & {
  /** Since when it is so, as far as this replica knows; by the wall clock. */
  sinceMs: number;
  damping?: {
    /** By the wall clock. */
    untilMs: number;
    /** How often it became not ready in the last minutes. */
    falls: number;
  };
};

export type NodeReadiness = ReadonlyMap<string, ServiceReadiness>;

type Memory = {
  /** What the evidence said last; `undefined` before it said anything. */
  ready: boolean | undefined;
  damping: Damping;
  shown: Verdict['state'];
  sinceMs: number;
};

export type ReadinessOptions = {
  services: readonly Service[];
  requirePod: boolean;
  /** A service begins to be held back. */
  onHeldBack: (node: NodeSnapshot, service: Service) => void;
};

/**
 * Judges services by snapshots of their nodes, one after the other, and remembers what it takes to hold back one that
 * comes and goes. Withdrawal is never delayed, only the way back.
 */
export class ReadinessTracker {
  readonly #options: ReadinessOptions;
  readonly #nodes = new Map<string, Map<string, Memory>>();
  /** What is held back, and on which node. */
  readonly #held = new Map<Memory, string>();

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  /** The readiness of every service, by its name. Judging the same snapshot again changes nothing. */
  judge(snapshot: NodeSnapshot, now: Moment): NodeReadiness {
    const memories = this.#memoriesOf(snapshot.name);
    const readiness = new Map<string, ServiceReadiness>();
    for (const service of this.#options.services) {
      const memory = memories.get(service.name) ?? firstMemory(now);
      memories.set(service.name, memory);
      const verdict = judgeService(service, snapshot, this.#options.requirePod);
      noteFall(memory, verdict, now);
      const shown = show(memory, verdict, now);
      readiness.set(service.name, shown);
      if (!shown.damping || this.#held.has(memory)) continue;
      this.#held.set(memory, snapshot.name);
      this.#options.onHeldBack(snapshot, service);
    }
    return readiness;
  }

  /** Nodes on which a service has just ceased to be held back. */
  released(nowMs: number): string[] {
    const released: string[] = [];
    for (const [memory, node] of this.#held) {
      if (memory.damping.heldUntilMs > nowMs) continue;
      this.#held.delete(memory);
      released.push(node);
    }
    return released;
  }

  /** How many services are held back. */
  get heldCount(): number {
    return this.#held.size;
  }

  forget(node: string): void {
    for (const memory of this.#nodes.get(node)?.values() ?? []) this.#held.delete(memory);
    this.#nodes.delete(node);
  }

  /** Begins anew: what came before was another leader's to see. */
  clear(): void {
    this.#nodes.clear();
    this.#held.clear();
  }

  #memoriesOf(node: string): Map<string, Memory> {
    const known = this.#nodes.get(node);
    if (known) return known;
    const memories = new Map<string, Memory>();
    this.#nodes.set(node, memories);
    return memories;
  }
}

function firstMemory(now: Moment): Memory {
  return { ready: undefined, damping: UNDAMPED, shown: 'unknown', sinceMs: now.wallMs };
}

function noteFall(memory: Memory, { state }: Verdict, now: Moment): void {
  if (state === 'unknown') return;
  if (memory.ready && state === 'not-ready') memory.damping = afterFall(memory.damping, now.monotonicMs);
  memory.ready = state === 'ready';
}

function show(memory: Memory, verdict: Verdict, now: Moment): ServiceReadiness {
  const { fallsMs, heldUntilMs } = memory.damping;
  const leftMs = heldUntilMs - now.monotonicMs;
  const damping = leftMs > 0 ? { untilMs: now.wallMs + leftMs, falls: fallsMs.length } : undefined;
  const shown = damping ? heldBack(verdict, damping) : verdict;
  if (memory.shown !== shown.state) {
    memory.shown = shown.state;
    memory.sinceMs = now.wallMs;
  }
  return { ...shown, sinceMs: memory.sinceMs, ...(damping ? { damping } : {}) };
}

function heldBack(verdict: Verdict, { untilMs, falls }: { untilMs: number; falls: number }): Verdict {
  if (verdict.state !== 'ready') return verdict;
  const reason = `held back until ${rfc3339(untilMs)}, as it became not ready ${falls} times in 5 minutes; now: ${verdict.reason}`;
  return { state: 'not-ready', reason };
}
