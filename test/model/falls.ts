import { readyLabel } from '@rollcall/common/well-known.ts';
import type { Node } from '@rollcall/coordinator/kube/objects.ts';
import type { Hearing } from './silence.ts';
import { type NodeTruth, SERVICE_NAMES } from './truth.ts';
import type { Evidence, Verdict } from './verdicts.ts';
import type { World } from './world.ts';

const WINDOW_MS = 300_000;
const FREE = 3;

/** How long a service is held back after so many falls in five minutes. */
function holdMs(falls: number): number {
  return falls <= FREE ? 0 : Math.min(300_000, 10_000 * 2 ** (falls - FREE - 1));
}

type Memory = {
  uid: string;
  termMs: number;
  evidence: Record<string, boolean>;
  check: string | undefined;
  open: boolean;
  /** The boots that spoke, and whether each has left. */
  voices: string | undefined;
  /** At most so many falls can have been counted. */
  fallsMs: number[];
  heldUntilMs: number;
  /** When what the evidence says turned from ready; requests that are lost may delay the removal of the label. */
  isReady: boolean;
  fellMs: number;
  /** At least so many falls: of labels that were taken after rollcall itself had set them. */
  takenMs: number[];
  setByUs: boolean;
};

/** `check`: something that is other whenever what is asked is. */
type Seen = { service: string; verdict: Verdict; hearing: Hearing; evidence: Evidence; check: string };

/** The boots that spoke, and whether each has left. Most of the time there is one. */
function voicesOf({ voices }: NodeTruth): string {
  const texts: string[] = [];
  for (const [boot, { leaving }] of voices) texts.push(`${boot} ${leaving}`);
  return texts.length > 1 ? texts.sort().join() : (texts[0] ?? '');
}

/** Damping from both sides: when a service may be held back, and when it must be. */
export class Falls {
  readonly #world: World;
  readonly #memories = new Map<string, Memory>();
  /** The latest end of any hold. */
  heldUntilMs = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** What is to be shown of a service, given what the evidence says. */
  look(truth: NodeTruth, { service, verdict, hearing, evidence, check }: Seen): Verdict {
    const memory = this.#memoryOf(truth.name, truth.uid, service);
    const { nowMs } = this.#world;
    if (memory.isReady && verdict !== 'ready') memory.fellMs = nowMs;
    memory.isReady = verdict === 'ready';
    // Pods and agents are known by different ways, so the order in which they fell is unknown.
    let falls = 0;
    for (const by in evidence) {
      const is = evidence[by];
      if (is === false && memory.evidence[by] === true) falls += 1;
      if (is !== undefined) memory.evidence[by] = is;
    }
    // Where it is open who counts, what is not so may have been seen as well.
    const open = hearing === 'open';
    const voices = voicesOf(truth);
    // Where a boot comes or leaves, another one that counts, or counts again, may say something else.
    const isOther = memory.voices !== undefined && memory.voices !== voices;
    falls += Number((memory.check ?? check) !== check) + Number(memory.open !== open) + Number(isOther);
    memory.check = check;
    memory.open = open;
    memory.voices = voices;
    for (let fall = 0; fall < falls; fall += 1) {
      memory.fallsMs = [...memory.fallsMs.filter((atMs) => nowMs - atMs < WINDOW_MS + 3000), nowMs];
      memory.heldUntilMs = Math.max(memory.heldUntilMs, nowMs + 3000 + holdMs(memory.fallsMs.length));
    }
    const mayBeHeld = memory.fallsMs.length > FREE && nowMs < memory.heldUntilMs;
    if (mayBeHeld) this.heldUntilMs = Math.max(this.heldUntilMs, memory.heldUntilMs);
    return mayBeHeld && verdict === 'ready' ? 'open' : verdict;
  }

  /** What a write of rollcall broke of it. */
  written(before: Node, after: Node): string | undefined {
    const { name, uid } = after.metadata;
    const { nowMs, gate } = this.#world;
    if (gate === 'taint') return undefined;
    for (const service of SERVICE_NAMES) {
      const label = readyLabel(service, 'default');
      const [had, has] = [before.metadata.labels?.[label] === 'true', after.metadata.labels?.[label] === 'true'];
      if (had === has) continue;
      const memory = this.#memoryOf(name, uid, service);
      if (had && memory.setByUs)
        memory.takenMs = [...memory.takenMs.filter((atMs) => nowMs - atMs < WINDOW_MS - 3000), memory.fellMs];
      memory.setByUs = has;
      const mustWaitMs = holdMs(memory.takenMs.length) - 3000 - (nowMs - (memory.takenMs.at(-1) ?? 0));
      const isLate = nowMs - (memory.takenMs[0] ?? 0) < WINDOW_MS - 3000;
      if (has && isLate && mustWaitMs > 0)
        return `${label} was set ${mustWaitMs} ms early, after ${memory.takenMs.length} falls`;
    }
    return undefined;
  }

  #memoryOf(name: string, uid: string, service: string): Memory {
    const id = `${name} ${service}`;
    const known = this.#memories.get(id);
    const { termBeganMs: termMs } = this.#world;
    if (known?.uid === uid && known.termMs === termMs) return known;
    const fresh = {
      uid,
      termMs,
      evidence: {},
      check: undefined,
      open: false,
      voices: undefined,
      fallsMs: [],
      heldUntilMs: 0,
      isReady: false,
      fellMs: 0,
      takenMs: [],
      setByUs: false,
    };
    this.#memories.set(id, fresh);
    return fresh;
  }
}
