import type { Node } from '@rollcall/coordinator/kube/objects.ts';
import type { SimCoordinator } from './coordinator.ts';
import { Evidence, isReadyOn } from './evidence.ts';
import { growthOf } from './growth.ts';
import type { SimNode } from './node.ts';
import { GOODBYE_MS, Reasons } from './reasons.ts';
import {
  isClusterKind,
  isHeldOpen,
  longestPeriodMs,
  needsAgent,
  periodOf,
  portAsked,
  type ServiceSpec,
  TIER_LABEL,
  TIMEOUT_MS,
} from './services.ts';
import { foreignChange, type Shown, shownOf } from './shown.ts';
import { SETTLE_MS, Troubles } from './troubles.ts';
import { isOurs, PATHS, type SeenWrite, type World } from './world.ts';

/** A service that was edited is told to every agent, its keys may wait a minute, and what agents see now ten. */
const EDITED_MS = 11 * 60_000;
const DOWN_MS = 6000;
const UP_MS = 20_000;
const WINDOW_MS = 30_000;
const SLACK_MS = 10_000;

/** State of one service on one node, with what the Node last showed, and the version of that Node. */
type Pair = { evidence: Evidence; wrongSinceMs: number | undefined; shown: Shown | undefined; by: Node | undefined };

/** Holds a world to what is promised, at every step. */
export class Judge {
  readonly violations: string[] = [];
  readonly troubles: Troubles;
  readonly #world: World;
  readonly #reasons: Reasons;
  /** Every service that there was, as it was last. */
  readonly #services = new Map<string, ServiceSpec>();
  /** When a service, or what a node is selected by, was last changed. */
  readonly #editedMs = new Map<string, number>();
  /** Pairs by uid of the node and name of the service. */
  readonly #pairs = new Map<string, Map<string, Pair>>();
  /** Until when what is said of a node's services may be contested. */
  readonly #contestedUntilMs = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
    this.troubles = new Troubles(world);
    this.#reasons = new Reasons(world, this.troubles);
    world.onTruth = () => this.#lookAtTruth();
    world.onWrite = (write) => this.#written(write);
    world.onStep = () => this.#stepped();
    world.onReport = (node, to, { status, body }, report) => {
      // Who is asked to say everything has vouched for nothing.
      if (status === 200) this.#reasons.heard(node, to, { ...JSON.parse(report), vouches: !JSON.parse(body).full });
      world.tell(`${to.name} answers ${node} ${status}`);
    };
    this.#lookAtTruth();
  }

  /** Once a second. */
  look(): void {
    this.troubles.look();
    this.#reasons.look();
    this.#lookAtEdits();
    for (const name of this.#services.keys())
      if (!this.#world.services.has(name) && !this.#isEdited(name)) this.#services.delete(name);
    for (const node of this.#world.nodes.values())
      for (const service of this.#services.values()) this.#compare(node, service);
    const problem = growthOf(this.#world);
    if (problem !== undefined) this.#complain(problem);
  }

  /** A person changed a service, or the labels by which it selects nodes. */
  edited(what: string): void {
    this.#editedMs.set(what, this.#world.nowMs);
    this.#lookAtTruth();
  }

  /** Another client changes our keys on this node, for so long. */
  contested(node: SimNode, forMs: number): void {
    this.#contestedUntilMs.set(node.uid, this.#world.nowMs + forMs);
  }

  /** Deviations from the truth, after a long time without trouble. */
  wrong(): string[] {
    return [...this.#world.nodes.values()].flatMap((node) =>
      [...this.#services.values()].flatMap((service) => {
        const problem = this.#problem(node, service, this.#pair(node, service).evidence.isReady);
        return problem === undefined ? [] : [`${node.name}: ${problem}`];
      }),
    );
  }

  /** Until when something may be held back for what happened. */
  get heldUntilMs(): number {
    const held = [...this.#pairs.values()].flatMap((pairs) =>
      [...pairs.values()].map(({ evidence }) => evidence.heldUntilMs),
    );
    const edited = [...this.#editedMs.values()].map((atMs) => atMs + EDITED_MS);
    return Math.max(0, ...held, ...edited, ...this.#contestedUntilMs.values());
  }

  #pair(node: SimNode, service: ServiceSpec): Pair {
    const pairs = this.#pairs.get(node.uid) ?? new Map<string, Pair>();
    const known = pairs.get(service.name);
    if (known) return known;
    const evidence = new Evidence(this.#world.nowMs);
    const pair = { evidence, wrongSinceMs: undefined, shown: undefined, by: undefined };
    this.#pairs.set(node.uid, pairs.set(service.name, pair));
    return pair;
  }

  #lookAtTruth(): void {
    const { services, nodes, nowMs } = this.#world;
    for (const [name, service] of services) {
      const before = this.#services.get(name);
      this.#services.set(name, service);
      if (before !== service) this.#editedMs.set(name, nowMs);
    }
    const uids = new Set([...nodes.values()].map(({ uid }) => uid));
    for (const uid of this.#pairs.keys()) if (!uids.has(uid)) this.#pairs.delete(uid);
    for (const node of nodes.values()) {
      for (const service of services.values()) this.#pair(node, service).evidence.look(isReadyOn(node, service), nowMs);
    }
  }

  /** Extends edits made while the API server is away, since they are noticed later. Called once a second. */
  #lookAtEdits(): void {
    if (this.troubles.commonCalmMs > 0) return;
    for (const [what, atMs] of this.#editedMs) if (this.#isEdited(what)) this.#editedMs.set(what, atMs + 1000);
  }

  #isEdited(...what: string[]): boolean {
    return what.some((each) => this.#world.nowMs - (this.#editedMs.get(each) ?? Number.NEGATIVE_INFINITY) < EDITED_MS);
  }

  #isSelected(node: SimNode, { name, tier }: ServiceSpec): boolean {
    const labels = this.#world.server.nodes.get(node.name)?.metadata.labels ?? {};
    return this.#world.services.has(name) && (tier === undefined || labels[TIER_LABEL] === tier);
  }

  #isListed(node: SimNode, { name }: ServiceSpec): boolean {
    const keys = this.#world.server.nodes.get(node.name)?.metadata.annotations?.['rollcall.dev/keys'] ?? '';
    return keys.includes(`"service:${name}-`);
  }

  /** Deviation of a service from the expected state, given whether it is ready. */
  #problem(node: SimNode, service: ServiceSpec, isReady: boolean): string | undefined {
    const shown = this.#shown(node, service);
    if (!shown) return undefined;
    const isSelected = this.#isSelected(node, service);
    // On a node that a service does not select, what others set stays; what rollcall listed has to go.
    if (!isSelected && !this.#isListed(node, service)) return undefined;
    const wanted: Shown = {
      label: isSelected && isReady,
      taint: isSelected && service.taint && !isReady,
      condition: isSelected && service.condition ? (isReady ? 'True' : 'False') : undefined,
    };
    return this.#difference(service, shown, wanted);
  }

  /** The same for a silent node: it may be not ready as well. */
  #problemInSilence(node: SimNode, service: ServiceSpec): string | undefined {
    const shown = this.#shown(node, service);
    if (!shown || !this.#isSelected(node, service)) return undefined;
    const condition = shown.condition === 'True' ? 'Unknown' : shown.condition;
    return this.#difference(service, shown, { ...shown, label: false, condition });
  }

  #shown(node: SimNode, service: ServiceSpec): Shown | undefined {
    const object = this.#world.server.nodes.get(node.name);
    const pair = this.#pair(node, service);
    if (object !== pair.by) Object.assign(pair, { by: object, shown: object && shownOf(object, service) });
    return pair.shown;
  }

  #difference({ name }: ServiceSpec, shown: Shown, wanted: Shown): string | undefined {
    const key = (['label', 'taint', 'condition'] as const).find((each) => shown[each] !== wanted[each]);
    return key && `the ${key} of ${name} is ${shown[key]}, not ${wanted[key]}`;
  }

  /** Whether something has been wrong for longer than it may. */
  #compare(node: SimNode, service: ServiceSpec): void {
    const { nowMs } = this.#world;
    const pair = this.#pair(node, service);
    const { evidence } = pair;
    const isContested = nowMs < Math.max(evidence.heldUntilMs, this.#contestedUntilMs.get(node.uid) ?? 0);
    // What most nodes fail is held against none.
    const isShared = !evidence.isReady && service.probe !== undefined && isClusterKind(service.probe);
    const isExcused = this.#isEdited(service.name, node.uid, 'every service') || isContested || isShared;
    if (isExcused) {
      pair.wrongSinceMs = undefined;
      return;
    }
    if (node.silence) {
      this.#compareSilent(node, service, node.silence);
      return;
    }
    const problem = this.#problem(node, service, evidence.isReady);
    if (problem === undefined) pair.wrongSinceMs = undefined;
    else pair.wrongSinceMs ??= nowMs;
    if (problem === undefined || pair.wrongSinceMs === undefined) return;
    const sinceMs = Math.max(pair.wrongSinceMs, evidence.sinceMs, nowMs - this.troubles.calmMs(node) + SETTLE_MS);
    if (nowMs - sinceMs > this.#boundMs(node, service, evidence.isReady)) {
      this.#complain(`${node.name}: for ${Math.round(nowMs - sinceMs)} ms ${problem}`);
    }
  }

  #boundMs(node: SimNode, service: ServiceSpec, isReady: boolean): number {
    const { probe, failureThreshold, successThreshold } = service;
    const roundMs = periodOf(service) + TIMEOUT_MS;
    if (isReady) return UP_MS + successThreshold * roundMs;
    const isHanging = node.sockets.stateOf(portAsked(service)) === 'hangs';
    if (isHanging) return DOWN_MS + longestPeriodMs(service) + failureThreshold * roundMs;
    // Without a connection that it takes along, the next round shows that it is gone.
    return DOWN_MS + (probe === undefined || isHeldOpen(probe) ? 0 : longestPeriodMs(service) + TIMEOUT_MS);
  }

  #compareSilent(node: SimNode, service: ServiceSpec, { sinceMs, goodbye }: NonNullable<SimNode['silence']>): void {
    this.#pair(node, service).wrongSinceMs = undefined;
    if (!needsAgent(service)) return;
    const boundMs = WINDOW_MS + SLACK_MS + (goodbye || node.agents.length === 0 ? GOODBYE_MS : 0);
    const forMs = Math.min(
      this.#world.nowMs - sinceMs,
      this.troubles.commonCalmMs - SETTLE_MS,
      this.#reasons.aloneMs(node),
    );
    if (forMs < boundMs) return;
    const problem = this.#problemInSilence(node, service);
    if (problem !== undefined)
      this.#complain(`${node.name} has been silent for ${Math.round(forMs)} ms, and ${problem}`);
  }

  #written(write: SeenWrite): void {
    const { type, node, before, by } = write;
    if (type !== 'MODIFIED' || !before) return;
    const { name } = node.metadata;
    this.#world.tell(
      `${by?.name ?? write.manager} writes ${name} ${node.metadata.resourceVersion}: ${difference(before, node)}`,
    );
    if (!isOurs(write) || !by) return;
    const foreign = foreignChange(before, node, this.#services.keys());
    if (foreign !== undefined) this.#complain(`${name}: rollcall changed what is not its own, ${foreign}`);
    this.#checkHolder(by, name);
    const known = this.#world.nodes.get(name);
    if (!known) return;
    for (const service of this.#services.values()) {
      const [old, now] = [shownOf(before, service), shownOf(node, service)];
      const { evidence } = this.#pair(known, service);
      if (old.label && !now.label && evidence.isReady) evidence.fell(this.#world.nowMs);
      const isEdited = this.#isEdited(service.name, known.uid) || !this.#isSelected(known, service);
      const problem = this.#reasons.problemOf(old, now, { node: known, by, evidence, isEdited });
      if (problem !== undefined) this.#complain(`${name}: ${problem} (${service.name})`);
    }
  }

  /** The API server carries out nothing of a coordinator while the Lease is another's. */
  #checkHolder(by: SimCoordinator, name: string): void {
    const lease = this.#world.server.collection(PATHS.leases).all()[0];
    const { holderIdentity } = (lease?.['spec'] ?? {}) as { holderIdentity?: string };
    if (!holderIdentity || holderIdentity === by.identity) return;
    this.#complain(`${name} was written to by ${by.identity} while ${holderIdentity} holds the Lease`);
  }

  #stepped(): void {
    const { coordinators } = this.#world;
    const writers = coordinators.filter(({ mayWriteMs }) => mayWriteMs > 0);
    for (const coordinator of coordinators) this.#reasons.stepped(coordinator);
    if (writers.length > 1) this.#complain(`${writers.map(({ identity }) => identity).join(' and ')} may write`);
  }

  #complain(problem: string): void {
    this.violations.push(`at ${(this.#world.nowMs / 1000).toFixed(1)} s: ${problem}`);
  }
}

function difference(before: SeenWrite['node'], after: SeenWrite['node']): string {
  const parts = (node: SeenWrite['node']) =>
    [node.metadata.labels, node.metadata.annotations, node.spec?.taints ?? [], node.status?.conditions ?? []].map(
      (part) => JSON.stringify(part),
    );
  const [old, now] = [parts(before), parts(after)];
  return now.filter((part, index) => part !== old[index]).join(' ');
}
