import { type Clock, momentOf } from '@rollcall/common/clock.ts';
import type { DiffDocument, DiffedNode, DiffRequest } from '@rollcall/common/console.ts';
import type { Slices } from '@rollcall/common/slices.ts';
import { collectionPath, WATCHED } from '@rollcall/common/watched-resources.ts';
import { reservedKeys, sortPoolLabels } from '../decide/labelers/pool-keys.ts';
import type { RuleDirectory } from '../decide/rules/files/rule-directory.ts';
import { type ProposedReadiness, WhatIf, type WhatIfOptions } from '../decide/what-if.ts';
import type { KubeClient } from '../kube/client.ts';
import type { KubeObject, Pod } from '../kube/objects.ts';
import type { CoordinatorConfig } from '../model/config.ts';
import type { ServiceKeys } from '../model/keys/key-entry.ts';
import { KeyRegistry } from '../model/keys/key-registry.ts';
import {
  isPoolLabelKind,
  type ObservedPoolLabelSet,
  observePoolLabelSet,
  proposedSets,
} from '../state/pool-label-sets.ts';
import { type ObservedNodeService, observeNodeService } from '../state/services/node-service.ts';
import type { ServiceRegistry } from '../state/services/service-registry.ts';
import { labelsMissedBy } from '../subscribers/eviction/misplaced-pods.ts';
import type { NodeQueries } from './console/node-queries.ts';
import { whySelectsNone } from './console/selects-none.ts';

const READ_TIMEOUT_MS = 5000;
/** Each takes a request. */
const NODES_ASKED_MAX = 200;

export type DiffOptions = {
  config: CoordinatorConfig;
  nodes: NodeQueries;
  labelerOptions: WhatIfOptions;
  clock: Clock;
  serviceRegistry: ServiceRegistry;
  rules: RuleDirectory | undefined;
  client: KubeClient;
};

type Sorted = {
  services: ObservedNodeService[];
  sets: ObservedPoolLabelSet[];
  problems: string[];
};

/** Returns what a changed configuration would do to the fleet; only nodes that would change are included. */
export async function diff(
  { objects, rules: files }: DiffRequest,
  options: DiffOptions,
  slices: Slices,
): Promise<Omit<DiffDocument, 'replica'>> {
  const { config, nodes: queries, labelerOptions, serviceRegistry, rules, clock } = options;
  const { services, sets, problems } = sort(objects, config, clock.now());
  const proposed = await slices.run(serviceRegistry.propose(services));
  for (const [name, { reason, message }] of proposed.refusals) {
    problems.push(`NodeService ${name} would not be accepted (${reason}): ${message}`);
  }
  const ruled = Object.keys(files).length > 0 ? await rules?.propose(files, slices) : undefined;
  if (Object.keys(files).length > 0 && !rules) problems.push('Rule files are ignored: --label-dir is not set');
  problems.push(...(ruled?.problems ?? []).map(({ file, problem }) => `${file}: ${problem}`));
  const keys = keysOf(config, proposed.services);
  problems.push(...sets.flatMap((set) => refusedKeys(set, config, keys)));
  const proposal = {
    services: proposed.services,
    keys,
    rules: ruled?.ruleSet ?? rules?.ruleSet,
    poolLabelSet: proposedSets(queries.fleet.poolLabelSets, sets),
  };
  const whatIf = new WhatIf(labelerOptions, proposal, momentOf(clock));
  const names = queries.names();
  const nodes: DiffedNode[] = [];
  const labels = () => queries.fleet.nodes().map((node) => node.labels);
  const outlooks = new Map(
    services.flatMap(({ name, service }) => {
      const whyNone = () => whySelectsNone(service.nodeSelector, labels());
      return proposed.refusals.has(name) ? [] : [[name, new Outlook(name, whyNone)]];
    }),
  );
  for (const name of names) {
    const decision = queries.decide(name);
    if (decision) {
      const readiness = whatIf.readinessOn(decision.evaluated);
      for (const [service, outlook] of outlooks) outlook.add(name, readiness.get(service));
      const changes = whatIf.changesOn(decision, readiness);
      const { pool } = decision.evaluated;
      if (changes.length > 0) nodes.push({ name, ...(pool === undefined ? {} : { pool }), changes, evicted: [] });
    }
    await slices.pause();
  }
  const notes = [...outlooks.values()].flatMap((outlook) => outlook.note() ?? []);
  const before = keysOf(config, serviceRegistry.services());
  const isIgnored = (label: string) => !config.evictReadiness && (before.isOfService(label) || keys.isOfService(label));
  if (config.evict) await addEvictions(nodes, isIgnored, options, notes);
  return { looked: names.length, problems, notes, evicts: config.evict, nodes };
}

function refusedKeys(set: ObservedPoolLabelSet, config: CoordinatorConfig, keys: KeyRegistry): string[] {
  const { refused } = sortPoolLabels(set, reservedKeys(keys, config));
  return refused.map(({ key, reason }) => `${set.kind} ${set.name}: ${key} would be refused, since it ${reason}`);
}

function keysOf(config: CoordinatorConfig, services: readonly ServiceKeys[]): KeyRegistry {
  const keys = new KeyRegistry(config);
  for (const service of services) keys.setService(service);
  return keys;
}

/** What cannot be said yet of a proposed service: no agent has made its checks, or what they need is not watched. */
class Outlook {
  readonly #service: string;
  readonly #whyNone: () => string | undefined;
  #selected = 0;
  #unknown = 0;
  #example: { node: string; reason: string } | undefined;

  /** `whyNone`: why it selects no node, if it selects none. */
  constructor(service: string, whyNone: () => string | undefined) {
    this.#service = service;
    this.#whyNone = whyNone;
  }

  /** `readiness`: absent on a node that the service does not select. */
  add(node: string, readiness: ProposedReadiness | undefined): void {
    if (!readiness) return;
    this.#selected += 1;
    if (readiness.state !== 'unknown') return;
    this.#unknown += 1;
    this.#example ??= { node, reason: unknownsOf(readiness) };
  }

  note(): string | undefined {
    if (this.#selected === 0)
      return `The nodeSelector of ${this.#service} selects no node: ${this.#whyNone() ?? 'they are not counted yet'}`;
    if (!this.#example) return undefined;
    const { node, reason } = this.#example;
    const where = `${this.#unknown} of ${this.#selected} nodes`;
    return `Whether ${this.#service} would be ready on ${where} is not known yet, and nothing changes there until it is (${node}: ${reason})`;
  }
}

function unknownsOf({ reason, checks = [] }: ProposedReadiness): string {
  const unknown = checks.filter(({ state }) => state === 'unknown');
  return unknown.length === 0 ? reason : unknown.map((check) => `${check.name}: ${check.reason}`).join('; ');
}

function sort(objects: readonly object[], { poolNamespace }: CoordinatorConfig, nowMs: number): Sorted {
  const sorted: Sorted = { services: [], sets: [], problems: [] };
  const time = new Date(nowMs).toISOString();
  for (const object of objects) {
    const { kind, metadata, spec } = object as {
      kind?: unknown;
      metadata?: { name?: unknown; namespace?: unknown };
      spec?: Record<string, unknown>;
    };
    const name = metadata?.name;
    if (typeof name !== 'string') {
      sorted.problems.push(`A ${String(kind)} has no name`);
      continue;
    }
    const namespace = typeof metadata?.namespace === 'string' ? metadata.namespace : poolNamespace;
    const written = {
      metadata: { name, namespace, uid: `proposed-${name}`, resourceVersion: '', creationTimestamp: time },
      spec: spec ?? {},
    };
    if (kind === 'NodeService') sorted.services.push(observeNodeService(written));
    else if (!isPoolLabelKind(kind)) {
      sorted.problems.push(
        `${String(kind)} ${name} is ignored: diff reads only NodeServices, NodePoolLabels, NodePoolLabelSets and rule files`,
      );
    } else if (namespace === poolNamespace) sorted.sets.push(observePoolLabelSet(kind, written));
    else sorted.problems.push(`${kind} ${namespace}/${name} is ignored: rollcall reads only those in ${poolNamespace}`);
  }
  return sorted;
}

/** Pods that would have no place any more on the nodes that would lose a label, or its value. */
async function addEvictions(
  nodes: DiffedNode[],
  isIgnored: (label: string) => boolean,
  { nodes: queries, client }: DiffOptions,
  notes: string[],
): Promise<void> {
  const losing = nodes
    .map((node, index) => ({ node, index, withdrawn: withdrawnBy(node.changes, isIgnored) }))
    .filter(({ withdrawn }) => Object.keys(withdrawn).length > 0);
  if (losing.length > NODES_ASKED_MAX) {
    notes.push(
      `The pods of only ${NODES_ASKED_MAX} of the ${losing.length} nodes that would lose a label were checked`,
    );
  }
  for (const { node, index, withdrawn } of losing.slice(0, NODES_ASKED_MAX)) {
    const labels: Record<string, string> = { ...queries.fleet.node(node.name)?.labels };
    for (const { kind, key, to } of node.changes) {
      if (kind !== 'label') continue;
      if (to === undefined) delete labels[key];
      else labels[key] = to;
    }
    const pods = await podsOn(client, node.name);
    const evicted = pods.flatMap((pod) => {
      const misses = labelsMissedBy(pod, node.name, { labels, withdrawn });
      return misses.length > 0 ? [{ pod: `${pod.metadata.namespace}/${pod.metadata.name}`, misses }] : [];
    });
    nodes[index] = { ...node, evicted };
  }
}

/** Labels that would go or change, with the values that they have now. */
function withdrawnBy(changes: DiffedNode['changes'], isIgnored: (label: string) => boolean): Record<string, string> {
  const gone = changes.flatMap(({ kind, key, from }): [string, string][] =>
    kind !== 'label' || from === undefined || isIgnored(key) ? [] : [[key, from]],
  );
  return Object.fromEntries(gone);
}

async function podsOn(client: KubeClient, node: string): Promise<Pod[]> {
  const { items } = await client.request<{ items: (KubeObject & Pod)[] }>({
    method: 'GET',
    path: collectionPath(WATCHED.pods),
    query: { fieldSelector: `spec.nodeName=${node}` },
    timeoutMs: READ_TIMEOUT_MS,
  });
  return items;
}
