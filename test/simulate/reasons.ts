import type { ReportHeader } from '@rollcall/common/report.ts';
import { POOL_LABEL, type SimCoordinator } from './coordinator.ts';
import type { Evidence } from './evidence.ts';
import type { SimNode } from './node.ts';
import type { Shown } from './shown.ts';
import type { Troubles } from './troubles.ts';
import type { World } from './world.ts';

/** An observation of this age may still be written: one report and one write under way, each at its longest. */
const SEEN_MS = 60_000;
/** And so long after it was heard, or everything stood still, what was decided while a node was silent: a write has several parts. */
const UNDER_WAY_MS = 10_000;
const NEW_MS = 20_000;
/** The window of silence, by clocks that run up to two in a hundred too fast. */
const SILENT_MS = 29_000;
/** How long who has said goodbye may be silent, when they are not yet counted by a guard. */
export const GOODBYE_MS = 120_000;
/** Share of the expected agents from which a guard is certainly active. */
const CROWD = 0.7;
/** And below it none. */
const FEW = 0.38;

type Report = Pick<ReportHeader, 'boot' | 'sequence'> & { vouches: boolean };
/** When a node was heard last, until when it had been silent, and the last report of each of its agents. */
type Heard = { atMs: number | undefined; silentUntilMs: number; sequences: Map<string, number> };

const NEVER_HEARD: Heard = { atMs: undefined, silentUntilMs: Number.NEGATIVE_INFINITY, sequences: new Map() };

type ReasonInputs = { node: SimNode; by: SimCoordinator; evidence: Evidence; isEdited: boolean };

/** Whether there is a reason for what a coordinator writes: by what is so, and by what it heard. */
export class Reasons {
  readonly #world: World;
  readonly #troubles: Troubles;
  /** When each coordinator heard each node last, in its present term. */
  readonly #heard = new WeakMap<SimCoordinator, Map<string, Heard>>();
  /** Since when each leads. */
  readonly #leadsSinceMs = new WeakMap<SimCoordinator, number>();
  /** When last so many of a group were silent that a guard may hold. */
  readonly #crowdedMs = new Map<string, number>();

  constructor(world: World, troubles: Troubles) {
    this.#world = world;
    this.#troubles = troubles;
  }

  /** A report that was overtaken by a later one says nothing. */
  heard(node: string, by: SimCoordinator, { boot, sequence, vouches }: Report): void {
    const uid = this.#world.nodes.get(node)?.uid;
    const heard = this.#heard.get(by);
    if (uid === undefined || !heard) return;
    const before = this.#heardOf(uid, by);
    if (sequence <= (before.sequences.get(boot) ?? -1)) return;
    const sequences = new Map(before.sequences).set(boot, sequence);
    const { nowMs } = this.#world;
    const silentUntilMs = this.#silentMs(uid, by) >= SILENT_MS ? nowMs : before.silentUntilMs;
    heard.set(uid, vouches ? { atMs: nowMs, silentUntilMs, sequences } : { ...before, sequences });
  }

  stepped(coordinator: SimCoordinator): void {
    const leads = coordinator.mayWriteMs > 0;
    if (leads === this.#leadsSinceMs.has(coordinator)) return;
    if (!leads) {
      this.#leadsSinceMs.delete(coordinator);
      return;
    }
    this.#leadsSinceMs.set(coordinator, this.#world.nowMs);
    this.#heard.set(coordinator, new Map());
  }

  /** Once a second. */
  look(): void {
    const groups = new Map<string, { all: number; silent: number }>();
    for (const node of this.#world.nodes.values()) {
      for (const name of this.#groupsOf(node)) {
        const group = groups.get(name) ?? { all: 0, silent: 0 };
        groups.set(name, group);
        group.all += 1;
        if (node.silence || this.#troubles.calmMs(node) === 0) group.silent += 1;
      }
    }
    for (const [name, { all, silent }] of groups) if (silent >= FEW * all) this.#crowdedMs.set(name, this.#world.nowMs);
  }

  /** For how long so few of the groups of a node have been silent that no guard holds. */
  aloneMs(node: SimNode): number {
    const crowdedMs = this.#groupsOf(node).map((name) => this.#crowdedMs.get(name) ?? Number.NEGATIVE_INFINITY);
    return this.#world.nowMs - Math.max(...crowdedMs);
  }

  /** What a write lacks a reason for, if anything. */
  problemOf(old: Shown, now: Shown, inputs: ReasonInputs): string | undefined {
    const { evidence, isEdited, by, node } = inputs;
    const { nowMs } = this.#world;
    const seenMs = SEEN_MS + (nowMs - this.#troubles.lastPauseMs < 2 * SEEN_MS ? 2 * SEEN_MS : 0);
    const wasDown = evidence.notReadyAgoMs(nowMs) <= seenMs || nowMs < evidence.heldUntilMs;
    const wasUp = evidence.readyAgoMs(nowMs) <= seenMs;
    const silentMs = this.#silentMs(node.uid, by);
    const isSilent = silentMs >= SILENT_MS || nowMs - this.#heardOf(node.uid, by).silentUntilMs <= UNDER_WAY_MS;
    const because = `not ready ${Math.round(evidence.notReadyAgoMs(nowMs) / 1000)} s ago, silent for ${Math.round(silentMs / 1000)} s`;
    const isWithdrawal = (old.label && !now.label) || (!old.taint && now.taint);
    if (isWithdrawal && !wasDown && !isEdited) {
      if (!isSilent) return `a withdrawal without a reason: ${because}`;
      if (this.#isCrowd(by) && !this.#wasUnderWay(silentMs)) return 'a withdrawal for silence while most are silent';
    }
    // Pods and Nodes have different watches: pods of the previous Node of this name may be seen on it for a moment.
    if (nowMs - node.createdMs < NEW_MS) return undefined;
    const isShown = (!old.label && now.label) || (old.taint && !now.taint && !isEdited);
    if (isShown && !wasUp) return `it is shown as ready without a reason: ${because}`;
    if (old.condition === now.condition) return undefined;
    if (now.condition === 'True' && !wasUp) return `the condition is True without a reason: ${because}`;
    if (now.condition === 'False' && !wasDown) return `the condition is False without a reason: ${because}`;
    if (now.condition === 'Unknown' && !isSilent) return `the condition is Unknown of one that was heard: ${because}`;
    if (now.condition === undefined && !isEdited) return 'the condition was removed without a reason';
    return undefined;
  }

  #heardOf(uid: string, by: SimCoordinator): Heard {
    return this.#heard.get(by)?.get(uid) ?? NEVER_HEARD;
  }

  #silentMs(uid: string, by: SimCoordinator): number {
    return this.#world.nowMs - (this.#heardOf(uid, by).atMs ?? this.#leadsSinceMs.get(by) ?? this.#world.nowMs);
  }

  /** Whether a node had been silent for long enough before everything stood still a moment ago. */
  #wasUnderWay(silentMs: number): boolean {
    const { untilMs, forMs } = this.#troubles.standstill;
    return this.#world.nowMs - untilMs <= UNDER_WAY_MS && silentMs - forMs >= SILENT_MS;
  }

  /** Whether nearly all of the fleet have been silent for longer than a guard needs to see it. */
  #isCrowd(by: SimCoordinator): boolean {
    const nodes = [...this.#world.nodes.values()].filter(({ uid }) => this.#heardOf(uid, by).atMs !== undefined);
    const silent = nodes.filter((node) => {
      const graceMs = node.silence?.goodbye ? GOODBYE_MS - SILENT_MS : 0;
      return this.#silentMs(node.uid, by) >= SILENT_MS + graceMs + 3000;
    });
    return silent.length > 2 && silent.length >= CROWD * nodes.length;
  }

  #groupsOf({ name }: SimNode): string[] {
    return ['fleet', `pool ${this.#world.server.nodes.get(name)?.metadata.labels?.[POOL_LABEL]}`];
  }
}
