import { momentOf } from '@rollcall/common/clock.ts';
import type { ServiceList } from '@rollcall/common/report.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import type { Node, NodeCondition } from '../../kube/objects.ts';
import type { Service } from '../../model/services.ts';
import { agentPod, fleetWith } from '../../state/fleet.test-fixtures.ts';
import type { Fleet } from '../../state/fleet.ts';
import { observeNodeService } from '../../state/services/node-service.ts';
import { ReadinessTracker, readinessOf, type ServiceReadiness } from './tracker.ts';

export const WINDOW_MS = 30_000;

type Agent = {
  nodeUid: string;
  boot: string;
  sequence: number;
  told: ServiceList | undefined;
  /** What it sees of the service, and how many devices. */
  sees: { ready: boolean; devices: number };
  /** Since when, RFC 3339. */
  since: string;
};

/** What the API server says of a node. */
export type NodeTruth = {
  uid: string;
  createdAtMs: number;
  version: number;
  /** `false`: only its metadata is watched. */
  isWhole: boolean;
  allocatable: Record<string, string>;
  conditions: NodeCondition[];
};

/** A fleet as it is in the program, with the agents and objects that its nodes have. */
export class KindWorld {
  readonly clock = new FakeClock();
  readonly fleet: Fleet;
  readonly names: string[];
  readonly nodes = new Map<string, NodeTruth>();
  readonly agents = new Map<string, Agent>();
  #services: readonly Service[] = [];
  #tracker: ReadinessTracker;
  #generation = 0;

  constructor(checks: readonly object[], size = 5) {
    this.names = Array.from({ length: size }, (_, index) => `n${index}`);
    this.fleet = fleetWith({ clock: this.clock, services: () => this.#services, windowMs: WINDOW_MS });
    this.#tracker = this.#newTracker();
    this.edit(checks);
    for (const name of this.names) this.nodes.set(name, this.#newNode(name));
    this.fleet.nodeHandlers.onReplace(this.names.map((name) => this.fleet.observe(this.#object(name))));
    this.fleet.beginTerm();
  }

  /** The service has these checks from now on. */
  edit(checks: readonly object[]): void {
    this.#generation += 1;
    const metadata = { name: 'svc', uid: 'svc', resourceVersion: '1', generation: this.#generation };
    const { service, unknownField } = observeNodeService({ metadata, spec: { checks } });
    if (unknownField !== undefined) throw new Error(`The check has an unknown field: ${unknownField}`);
    this.#services = [service];
  }

  beginTerm(): void {
    this.#tracker = this.#newTracker();
    this.fleet.beginTerm();
  }

  /** The node is made anew under its name, and another object; what else there is stays. */
  recreate(name: string): void {
    const { version, isWhole } = this.node(name);
    this.nodes.set(name, { ...this.#newNode(name), version, isWhole });
    this.write(name);
  }

  node(name: string): NodeTruth {
    const node = this.nodes.get(name);
    if (!node) throw new Error(`There is no node ${name}`);
    return node;
  }

  write(name: string, change: Partial<NodeTruth> = {}): void {
    const node = Object.assign(this.node(name), change);
    node.version += 1;
    this.fleet.nodeHandlers.onUpsert(this.fleet.observe(this.#object(name)));
  }

  /** An agent comes to the node, as it is now. */
  startAgent(name: string, sees: Agent['sees']): void {
    const { uid: nodeUid } = this.node(name);
    const boot = `boot-${name}-${nodeUid}-${this.clock.monotonic()}`;
    this.fleet.agentPods.handlers().onUpsert(this.#agentPod(name));
    this.agents.set(name, { nodeUid, boot, sequence: 0, told: undefined, sees, since: this.#time() });
    this.speak(name);
    this.speak(name);
  }

  /** The agent sees something else from now on, and reports it. */
  see(name: string, sees: Agent['sees']): void {
    const agent = this.agents.get(name);
    if (!agent) return;
    Object.assign(agent, { sees, since: this.#time() });
    this.speak(name);
  }

  stopAgent(name: string): void {
    this.agents.delete(name);
  }

  removeAgentPod(name: string): void {
    this.fleet.agentPods.handlers().onDelete(this.#agentPod(name));
  }

  /** The agent reports of what it is told to probe, if there is one. */
  speak(name: string): void {
    const agent = this.agents.get(name);
    if (!agent) return;
    agent.sequence += 1;
    const { nodeUid, boot, sequence, told, sees, since } = agent;
    const services = (told?.services ?? []).map(({ name: check, digest }) => ({
      ...{ name: check, digest, since, ready: sees.ready, evidence: sees.ready ? 'seen' : 'not seen' },
    }));
    const attributes = { class: 'fe', vendor: '1a6e', device: '089a' };
    const devices = Array.from({ length: sees.devices }, () => ({ bus: 'usb' as const, attributes }));
    const { reply } = this.fleet.accept(
      {
        ...{ node: name, boot, sequence, digest: `${sequence}`, services, devices, facts: {} },
        ...(told ? { servicesDigest: told.servicesDigest } : {}),
      },
      { node: name, nodeUid, pod: { name: `agent-${name}`, uid: this.#agentPod(name).uid } },
    );
    const { services: list, servicesDigest } = reply;
    if (list && servicesDigest !== undefined) agent.told = { services: list, servicesDigest };
  }

  /** Lets seconds pass, in which agents report and the program looks at its nodes. */
  pass(seconds: number): void {
    for (let second = 0; second < seconds; second += 1) {
      this.clock.standStill(1000);
      for (const name of this.names) this.speak(name);
      this.fleet.tick();
      for (const name of this.names) this.of(name);
    }
  }

  /** The service on a node, as it is judged now; what is judged is remembered. */
  of(name: string): ServiceReadiness {
    const record = this.fleet.record(name);
    const snapshot = this.fleet.snapshot(name);
    if (!record || !snapshot) throw new Error(`The node ${name} is not known`);
    const now = momentOf(this.clock);
    const judgements = this.#tracker.judge(record, snapshot, now);
    this.#tracker.record(record, snapshot, judgements, now);
    const shown = readinessOf(judgements).get('svc');
    if (!shown) throw new Error(`The service was not judged on ${name}`);
    return shown;
  }

  /** The states on all nodes, each once. */
  states(): string[] {
    return [...new Set(this.names.map((name) => this.of(name).state))].sort();
  }

  #time(): string {
    return new Date(this.clock.now()).toISOString();
  }

  #newNode(name: string): NodeTruth {
    const createdAtMs = this.clock.now();
    return {
      ...{ uid: `${name}-${createdAtMs}`, createdAtMs, version: 1, isWhole: false, allocatable: {}, conditions: [] },
    };
  }

  #agentPod(name: string) {
    const { uid, createdAtMs } = this.node(name);
    return agentPod(`agent-${name}`, name, { uid: `agent-${uid}`, createdAtMs });
  }

  #object(name: string): Node {
    const { uid, createdAtMs, version, isWhole, allocatable, conditions } = this.node(name);
    const creationTimestamp = new Date(createdAtMs).toISOString();
    const metadata = { name, uid, resourceVersion: `${version}`, creationTimestamp };
    return isWhole ? { metadata, spec: {}, status: { allocatable, conditions } } : { metadata };
  }

  #newTracker(): ReadinessTracker {
    const observer = { sees: () => {}, heldUntilMs: () => undefined, record: () => {} };
    return new ReadinessTracker({ services: () => this.#services, observer });
  }
}
