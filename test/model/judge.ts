import { FIELD_MANAGER, readyLabel } from '@rollcall/common/well-known.ts';
import { inForce } from './acceptance.ts';
import type { NodeWrite } from './api-server/nodes.ts';
import { Assignments, NOTICED_MS } from './assignments.ts';
import { Departures, delaysEndMs, isLarge } from './blast-radius.ts';
import { Evictions } from './evictions.ts';
import { Falls } from './falls.ts';
import { Graces } from './graces.ts';
import { LAG_MS } from './news.ts';
import { NoExecute } from './no-execute.ts';
import { Observer } from './observer.ts';
import { wantsOf } from './oracle.ts';
import { orderBroken } from './order.ts';

import { changedKeys, valueOn } from './sights.ts';
import { type Hearing, Silence } from './silence.ts';
import { gatesOpenMs } from './startup-gate.ts';
import { isSelected, TaintBudget } from './taint-budget.ts';
import { type NodeTruth, SERVICE_NAMES } from './truth.ts';
import { uncovered } from './uncovered.ts';
import { type Evidence, evidenceOf, gitpodEvidence, sightOf, type Verdict, verdictOf, verdictOn } from './verdicts.ts';
import { ANY, HOLD, type Want } from './want.ts';
import type { World } from './world.ts';

/** No label lies for longer. */
const LIE_MS = 3000;
/** §10: a failure of what all nodes share counts after its `period`, its `timeout` and 2 s. */
const SHARED_MS = 13_000;
/** The same while many writes to other Nodes hang: what is urgent needs no tick, and no late watch. */
const BESIDE_HUNG_MS = 1000;
/** What was decided lately may still be under way: a write is evaluated by what was wanted within so long. */
const REASON_MS = 2000;
/** So often within a minute, and a key is contested. */
const CONTESTED_EDITS = 3;
const CONTESTED_MS = 310_000;
/** A key that was refused for another client's value, which was removed before it was seen, is tried again after so long. */
const UNSEEN_FOR_MS = 33_000;

type Memory = {
  /** What was wanted, the latest last, each from when on. */
  wants: { want: Want; fromMs: number }[];
  /** Since when the Node says something else. */
  wrongSinceMs: number | undefined;
  excusedUntilMs: number;
  editsMs: number[];
  /** The value before another client changed it, and when. */
  edited?: { from: string | undefined; atMs: number };
  /** Since when it is not among the keys that are ours. */
  leftMs?: number | undefined;
};

/** What the evidence says of a service, and of which pods it is. */
type Judged = {
  service: string;
  /** The label that shows it. */
  label: string | undefined;
  component: string | undefined;
  verdict: Verdict;
  evidence: Evidence;
  hearing: Hearing;
  check: string;
};

/** `grounds`: what the wants were made of, so that they are not made again for nothing. */
type NodeMemory = { uid: string; keys: Map<string, Memory>; hearing: Hearing; grounds: string | undefined };

/** Watches over a world: remembers what was wanted of each key and when, and finds fault with what is written, or not. */
export class Judge {
  readonly #world: World;
  readonly #silence: Silence;
  readonly #observer: Observer;
  readonly #falls: Falls;
  readonly #graces: Graces;
  readonly #noExecute: NoExecute;
  readonly #assignments: Assignments;
  readonly #evictions: Evictions;
  readonly #departures: Departures;
  readonly #taintBudget: TaintBudget;
  readonly #nodes = new Map<string, NodeMemory>();
  readonly violations: string[] = [];
  /** Every change of a key, as a sentence. */
  onWrite: (line: string) => void = () => {};

  constructor(world: World) {
    this.#world = world;
    this.#silence = new Silence(world);
    this.#observer = new Observer(world);
    this.#falls = new Falls(world);
    this.#graces = new Graces(world);
    this.#noExecute = new NoExecute(world);
    this.#assignments = new Assignments(world);
    this.#evictions = new Evictions(world);
    this.#departures = new Departures(world);
    this.#taintBudget = new TaintBudget(world);
    world.workloads.onEvicted = (pod) => {
      const problem = this.#evictions.evicted(pod);
      if (problem) this.#complain(problem);
    };
    world.onWrite = (write) => this.#written(write);
    world.onSend = (...sent) => {
      const problem = uncovered(...sent);
      if (problem) this.#complain(problem);
    };
    this.look();
  }

  /** To be called after everything that happens, and once a second. */
  look(): void {
    const { truths } = this.#world;
    for (const name of this.#nodes.keys()) if (!truths.has(name)) this.#nodes.delete(name);
    this.#silence.look();
    this.#taintBudget.look();
    for (const name of truths.keys()) this.#lookAt(name);
    const overdue = this.#evictions.overdue();
    if (overdue) this.#complain(overdue);
  }

  /** Until when a key is not as it should be for a reason. */
  get excusedUntilMs(): number {
    const keys = [...this.#nodes.values()].flatMap((node) => [...node.keys.values()]);
    return Math.max(
      this.#world.faults.troubledUntilMs,
      this.#world.faults.allHungUntilMs,
      this.#falls.heldUntilMs,
      this.#observer.keptUntilMs,
      // A NodeService that was written at the end is noticed, and then judged.
      this.#world.busyUntilMs + NOTICED_MS + SHARED_MS + LIE_MS,
      gatesOpenMs(this.#world),
      delaysEndMs(this.#world),
      ...keys.map((key) => key.excusedUntilMs),
    );
  }

  /** Keys that are not as they should be. */
  wrong(): string[] {
    return [...this.#nodes].flatMap(([name, { keys }]) =>
      [...keys].flatMap(([id, { wants, wrongSinceMs }]) =>
        wrongSinceMs === undefined
          ? []
          : [`${name} ${id} is ${shown(this.#value(name, id))}, not ${shown(wants.at(-1)?.want)}`],
      ),
    );
  }

  wantedOfLate(name: string, id: string): Want[] {
    return this.#wantsOfLate(this.#nodes.get(name)?.keys.get(id));
  }

  #lookAt(name: string): void {
    const truth = this.#world.truths.get(name);
    if (!truth) return;
    const memory = this.#memoryOf(name, truth.uid);
    const hearing = this.#silence.of(truth);
    if (hearing !== memory.hearing) this.#world.heard('silence', name);
    memory.hearing = hearing;
    const verdicts = this.#verdictsOn(truth, hearing);
    // Most of the time nothing happens.
    const isTimed = this.#world.startupGate !== undefined || isLarge(this.#world);
    const second = isTimed ? Math.floor(this.#world.nowMs / 1000) : 0;
    const grounds = `${second} ${this.#world.version} ${this.#world.isMuddled(name)} ${hearing} ${[...verdicts].join()}`;
    if (memory.grounds === grounds) {
      for (const [id, key] of memory.keys) if (key.wrongSinceMs !== undefined) this.#compare(name, id, key);
      return;
    }
    memory.grounds = grounds;
    const wants = wantsOf(this.#world, truth, { hearing, verdicts });
    for (const [id, want] of wants) this.#want(memory.keys, id, want);
    for (const [id, key] of memory.keys) {
      if (wants.has(id)) this.#compare(name, id, key);
      else this.#leave(memory.keys, id, { key, isForeign: truth.claims.get(id) === 'foreign' });
    }
  }

  /** What is to be shown of each service that the node is for. */
  #verdictsOn(truth: NodeTruth, hearing: Hearing): Map<string, Verdict> {
    const world = this.#world;
    const verdicts = new Map<string, Verdict>();
    for (const service of SERVICE_NAMES) {
      const judged = {
        ...{ service, label: readyLabel(service, 'default'), component: service, hearing, check: '' },
        verdict: verdictOf(world, truth, service, hearing),
        evidence: gitpodEvidence(truth, service, hearing),
      };
      const seen = { ...judged, ...this.#guarded(truth, judged) };
      this.#evictions.look(truth, readyLabel(service, 'default'), seen.verdict);
      verdicts.set(service, this.#falls.look(truth, seen));
    }
    for (const service of world.servicesAreKnown ? inForce(world) : []) {
      if (!isSelected(world, truth, service)) continue;
      const { name, uid, generation } = service;
      const counts = this.#graces.look(truth, service);
      const judged = {
        ...{ service: name, label: service.spec.publish.label, component: service.spec.checks.pods, hearing },
        check: `${uid} ${generation}`,
        verdict: verdictOn(world, truth, service, { hearing, counts }),
        evidence: evidenceOf(truth, service, { hearing, counts }),
      };
      const seen = { ...judged, ...this.#guarded(truth, judged) };
      this.#noExecute.look(truth, service, seen.verdict);
      this.#evictions.look(truth, service.spec.publish.label, seen.verdict);
      const untold = this.#assignments.look(truth, service, hearing);
      if (untold) this.#complain(untold);
      verdicts.set(name, this.#falls.look(truth, seen));
    }
    return verdicts;
  }

  /** What is made of a service where agents of another version may be wrong about it. What is kept has not fallen. */
  #guarded(truth: NodeTruth, judged: Judged): Partial<Judged> {
    const { service, label, component, verdict, evidence, hearing, check } = judged;
    const sight = sightOf(truth, component, verdict, evidence);
    const mayBeKept = this.#observer.look(truth, { service, label, hearing, ...sight });
    return mayBeKept ? { verdict: 'open', check: `${check} maybe` } : {};
  }

  #memoryOf(name: string, uid: string): NodeMemory {
    const known = this.#nodes.get(name);
    if (known?.uid === uid) return known;
    const memory: NodeMemory = { uid, keys: new Map(), hearing: 'unheard', grounds: undefined };
    this.#nodes.set(name, memory);
    return memory;
  }

  #want(keys: Map<string, Memory>, id: string, want: Want): void {
    const latest: Memory['wants'][number] = { want, fromMs: this.#world.nowMs };
    const key = keys.get(id);
    if (key) key.leftMs = undefined;
    if (!key) {
      const wants = [latest];
      keys.set(id, { wants, wrongSinceMs: undefined, excusedUntilMs: 0, editsMs: [] });
    } else if (key.wants.at(-1)?.want !== want) {
      key.wants = [
        ...key.wants.filter((_, at) => at === key.wants.length - 1 || this.#isRecent(key.wants[at + 1])),
        latest,
      ];
      key.wrongSinceMs = undefined;
    }
  }

  /**
   * The key is not ours any more, but what was decided about it may still be under way. Where it does not belong to
   * another client, that was to remove it: a label that its pool requests again a moment later was not wanted in between.
   */
  #leave(keys: Map<string, Memory>, id: string, { key, isForeign }: { key: Memory; isForeign: boolean }): void {
    const { nowMs } = this.#world;
    if (key.leftMs === undefined && !isForeign) this.#want(keys, id, undefined);
    key.leftMs ??= nowMs;
    key.wrongSinceMs = undefined;
    if (nowMs - key.leftMs > REASON_MS) keys.delete(id);
  }

  #isRecent(next: { fromMs: number } | undefined): boolean {
    return next !== undefined && this.#world.nowMs - next.fromMs <= REASON_MS;
  }

  #compare(name: string, id: string, key: Memory): void {
    const { nowMs, decided } = this.#world;
    const { troubledUntilMs, denied } = this.#world.faults;
    const want = key.wants.at(-1)?.want;
    for (const [each, untilMs] of denied)
      if (related(id, each)) key.excusedUntilMs = Math.max(key.excusedUntilMs, untilMs + CONTESTED_MS);
    const isRight = want === HOLD || want === ANY || this.#value(name, id) === want;
    if (isRight) {
      key.wrongSinceMs = undefined;
      return;
    }
    const hungUntilMs = this.#world.faults.hungUntilMs(name);
    if (!decided || nowMs < Math.max(troubledUntilMs, hungUntilMs, key.excusedUntilMs)) key.wrongSinceMs = nowMs;
    key.wrongSinceMs ??= nowMs;
    if (nowMs - key.wrongSinceMs > this.#lieMs(id)) {
      this.#complain(
        `${name} ${id} has been ${shown(this.#value(name, id))} for ${nowMs - key.wrongSinceMs} ms, not ${shown(want)}`,
      );
    }
  }

  /** §12: writes that hang delay their own Nodes alone. What is urgent is not late for that on any other. */
  #lieMs(id: string): number {
    const isUrgent = SERVICE_NAMES.some((service) => id.includes(service));
    return isUrgent && this.#world.faults.manyHang ? BESIDE_HUNG_MS : LIE_MS;
  }

  #written(write: NodeWrite): void {
    const { type, node, before, manager } = write;
    if (type !== 'MODIFIED' || !before) return;
    const { name, uid } = node.metadata;
    const isOurs = manager === FIELD_MANAGER;
    // While it is known since when a label was to leave.
    const departure = this.#departures.written(write);
    if (isOurs) this.#lookAt(name);
    if (isOurs && !this.#world.isSeen(name, uid)) this.#complain(`${name} was written to before it was seen`);
    this.#evictions.written(write);
    const memory = this.#memoryOf(name, uid).keys;
    for (const id of changedKeys(before, node)) {
      const key = memory.get(id);
      this.onWrite(`  ${manager} makes ${name} ${id} ${shown(valueOn(node, id))}`);
      if (!isOurs) this.#edited(key, valueOn(before, id), valueOn(node, id));
      else this.#judge(name, id, key, valueOn(node, id));
    }
    if (isOurs) {
      const problem =
        this.#falls.written(before, node) ??
        this.#noExecute.written(before, node) ??
        departure ??
        this.#observer.written(write) ??
        this.#taintBudget.written(write) ??
        orderBroken(this.#world.gate, before, node, {
          wantsOfLate: (id) => this.#wantsOfLate(memory.get(id)),
          wasLately: (id, value) => this.#wasLately(memory.get(id), value),
        });
      if (problem && !this.#world.isMuddled(name)) this.#complain(`${name}: ${problem}`);
    }
  }

  /** Another client changed it: from now on it takes a moment, and if they do it again and again, longer. */
  #edited(key: Memory | undefined, from: string | undefined, to: string | undefined): void {
    if (!key) return;
    const { nowMs } = this.#world;
    // It was refused, perhaps, for a value that the watch never showed.
    if (to === undefined && this.#isEditedLately(key))
      key.excusedUntilMs = Math.max(key.excusedUntilMs, nowMs + UNSEEN_FOR_MS);
    key.edited = { from, atMs: nowMs };
    key.wrongSinceMs = undefined;
    key.editsMs = [...key.editsMs.filter((atMs) => nowMs - atMs < 60_000), nowMs];
    if (key.editsMs.length > CONTESTED_EDITS) key.excusedUntilMs = nowMs + CONTESTED_MS;
  }

  #judge(name: string, id: string, key: Memory | undefined, value: string | undefined): void {
    const wants = this.#wantsOfLate(key);
    const isPartOfList = id.startsWith('annotation:') && this.#world.faults.denied.size > 0;
    if (isPartOfList || this.#world.isMuddled(name) || wants.includes(ANY) || wants.includes(value)) return;
    if (wants.includes(HOLD) && this.#wasLately(key, value)) return;
    if (wants.some((want) => isBeside(want, value)) && this.#isEditedLately(key)) return;
    const why = wants.length === 0 ? 'which is not its own' : `which was to be ${wants.map(shown).join(', then ')}`;
    this.#complain(`${name} ${id} was made ${shown(value)} by rollcall, ${why}`);
  }

  /** An apply names what is kept as the watch showed it last, which may be the value before an edit. */
  #wasLately(key: Memory | undefined, value: string | undefined): boolean {
    return key?.edited?.from === value && this.#isEditedLately(key);
  }

  /** Another client changed it, and the watch may not have shown it yet. */
  #isEditedLately(key: Memory | undefined): boolean {
    return this.#world.nowMs - (key?.edited?.atMs ?? Number.NEGATIVE_INFINITY) <= LAG_MS;
  }

  #wantsOfLate(key: Memory | undefined): Want[] {
    if (!key) return [];
    return key.wants
      .filter((_, at) => at === key.wants.length - 1 || this.#isRecent(key.wants[at + 1]))
      .map(({ want }) => want);
  }

  #value(name: string, id: string): string | undefined {
    const node = this.#world.nodes.get(name);
    return node && valueOn(node, id);
  }

  #complain(problem: string): void {
    this.violations.push(`at ${(this.#world.nowMs / 1000).toFixed(1)} s: ${problem}`);
  }
}

/** A taint was added beside others of its key. */
function isBeside(want: Want, value: string | undefined): boolean {
  return typeof want === 'string' && value?.split(',').includes(want) === true;
}

/** Of the keys of a service, one that is denied holds up the others. */
function related(id: string, deniedId: string): boolean {
  const service = SERVICE_NAMES.find((each) => deniedId.includes(each));
  return id === deniedId || (service !== undefined && id.includes(service)) || id.startsWith('annotation:');
}

function shown(want: Want): string {
  if (want === HOLD) return 'held';
  if (want === ANY) return 'anything';
  return want === undefined ? 'absent' : JSON.stringify(want);
}
