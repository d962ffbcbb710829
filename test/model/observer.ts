import { FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import type { NodeWrite } from './api-server/nodes.ts';
import { LOOKED_MS } from './assignments.ts';
import { LAG_MS } from './news.ts';
import { valueOn } from './sights.ts';
import { type Hearing, WINDOW_MS } from './silence.ts';
import type { NodeTruth } from './truth.ts';
import { isDisputed } from './verdicts.ts';
import type { World } from './world.ts';

const CHANGED_FOR_MS = 600_000;
const LOST_MIN = 3;
const LOST_PERCENT = 55;
/** Ticks are a second apart, and what is watched comes late. */
const SLACK_MS = 2500;

/** A node that a service selects. `label`: what shows the service there. `lostMs`: when rollcall took that for this loss. */
type Member = Seen & { lookedMs: number; losesSinceMs: number | undefined; lostMs: number | undefined };

/** `isUnseen`: the agent alone speaks against the service, while a pod of it is Ready. */
type Seen = { service: string; label: string | undefined; hearing: Hearing; isUnseen: boolean };

/** The version that was heard last of the agent of a node, and when it was last another one, whoever led. */
type Agent = { version: string | undefined; changedMs: number };

/**
 * §12, subject `agent-version`: once 3 nodes and at least 55 % of those whose agent changed its version within 10 minutes
 * lost a service this way, further ones keep it, for 10 minutes from the change, whoever leads. All others lose it.
 */
export class Observer {
  readonly #world: World;
  readonly #agents = new Map<string, Agent>();
  /** By service, then by uid of the Node. */
  readonly #members = new Map<string, Map<string, Member>>();
  /** Until when further nodes may keep a service: once so many had lost it, what is kept is kept. */
  readonly #doubtedUntilMs = new Map<string, number>();
  /** When nothing is kept any more. */
  keptUntilMs = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** Whether the service may be kept. */
  look(truth: NodeTruth, seen: Seen): boolean {
    const { nowMs, termBeganMs, agentVersion, faults } = this.#world;
    if (agentVersion === undefined) return false;
    this.#hear(truth);
    const members = this.#members.get(seen.service) ?? new Map<string, Member>();
    this.#members.set(seen.service, members);
    const known = members.get(truth.uid);
    const losesSinceMs = seen.isUnseen ? (known?.losesSinceMs ?? nowMs) : undefined;
    members.set(truth.uid, {
      ...seen,
      losesSinceMs,
      lookedMs: nowMs,
      lostMs: seen.isUnseen ? known?.lostMs : undefined,
    });
    if (!seen.isUnseen || !this.#mayHaveChanged(truth)) return false;
    // The guard is shut until most agents were heard.
    const knownFromMs = Math.max(termBeganMs, faults.troubledUntilMs) + WINDOW_MS + SLACK_MS;
    const changed = this.#changed(seen.service);
    const losing = changed.filter(({ member, mayHave }) => mayHave && member.isUnseen).length;
    if (isMost(losing, changed.filter(({ surely }) => surely).length))
      this.#doubtedUntilMs.set(seen.service, nowMs + CHANGED_FOR_MS + SLACK_MS);
    const mayWait = nowMs < Math.max(knownFromMs, this.#doubtedUntilMs.get(seen.service) ?? 0);
    if (mayWait) this.keptUntilMs = nowMs + CHANGED_FOR_MS + SLACK_MS;
    return mayWait;
  }

  /** What a write of rollcall broke of it: a node lost a service although it was clear that the agents are at fault. */
  written({ node, before, manager }: NodeWrite): string | undefined {
    const { nowMs } = this.#world;
    const { name, uid } = node.metadata;
    if (manager !== FIELD_MANAGER || !before) return undefined;
    for (const [service, members] of this.#members) {
      const member = members.get(uid);
      const id = `label:${member?.label}`;
      const { losesSinceMs, hearing } = member ?? {};
      if (losesSinceMs === undefined || valueOn(before, id) === undefined || valueOn(node, id) !== undefined) continue;
      const changed = this.#changed(service);
      const lost = changed.filter(
        ({ member: { lostMs = nowMs }, surely }) => surely && lostMs < losesSinceMs - SLACK_MS,
      );
      const isClear = hearing === 'speaks' && changed.some((each) => each.member === member && each.surely);
      const most = changed.filter(({ mayHave }) => mayHave).length;
      Object.assign(member ?? {}, { lostMs: nowMs });
      if (isClear && nowMs - losesSinceMs > 2 * LAG_MS && lost.length >= LOST_MIN && isMost(lost.length, most))
        return `${name} lost ${service}, as ${lost.length} of ${most} nodes whose agent was replaced had before`;
    }
    return undefined;
  }

  /** The nodes of a service whose agent may have, or has, another version than 10 minutes ago. */
  #changed(service: string) {
    const { truths, nowMs, termBeganMs } = this.#world;
    return [...truths.values()].flatMap((truth) => {
      const member = this.#members.get(service)?.get(truth.uid);
      if (!member || nowMs - member.lookedMs > LOOKED_MS) return [];
      const { changedMs = Number.NEGATIVE_INFINITY } = this.#agents.get(truth.uid) ?? {};
      const isRecent = nowMs - changedMs < CHANGED_FOR_MS - SLACK_MS && nowMs - changedMs > 2 * LAG_MS;
      const surely = isRecent && changedMs > termBeganMs + 2 * LAG_MS && !isDisputed(this.#world, truth);
      return [{ member, surely, mayHave: this.#mayHaveChanged(truth) }];
    });
  }

  #hear({ uid, said }: NodeTruth): void {
    const { version, before } = said ?? {};
    const known = this.#agents.get(uid) ?? { version: before, changedMs: Number.NEGATIVE_INFINITY };
    const isOther = version !== undefined && known.version !== undefined && version !== known.version;
    // A version that changes all the time is doubted from the first change on.
    const isFirst = this.#world.nowMs - known.changedMs > CHANGED_FOR_MS;
    const changedMs = isOther && isFirst ? this.#world.nowMs : known.changedMs;
    this.#agents.set(uid, { version: version ?? known.version, changedMs });
  }

  /** For a new leader, the age of the agent's pod shows it. */
  #mayHaveChanged(truth: NodeTruth): boolean {
    const { nowMs } = this.#world;
    const { changedMs = Number.NEGATIVE_INFINITY } = this.#agents.get(truth.uid) ?? {};
    return (
      nowMs - Math.max(changedMs, truth.agentPodCameMs) <= CHANGED_FOR_MS + SLACK_MS || isDisputed(this.#world, truth)
    );
  }
}

function isMost(lost: number, of: number): boolean {
  return lost >= LOST_MIN && 100 * lost >= LOST_PERCENT * of;
}
