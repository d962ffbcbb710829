import type { Clock } from '@rollcall/common/clock.ts';
import type { RefusedObject, ReplicaDocument } from '@rollcall/common/console.ts';
import { closeServer, listen } from '@rollcall/common/http-server.ts';
import type { Lifecycle } from '@rollcall/common/lifecycle.ts';
import { Slices } from '@rollcall/common/slices.ts';
import type { RuleDirectory } from '../decide/rules/files/rule-directory.ts';
import type { ServiceTally } from '../decide/service-tally.ts';
import type { WhatIfOptions } from '../decide/what-if.ts';
import type { KubeClient } from '../kube/client.ts';
import type { KubeObject } from '../kube/objects.ts';
import { type CoordinatorConfig, listenAddress } from '../model/config.ts';
import type { Service } from '../model/services.ts';
import type { BoundAddress } from '../model/urls.ts';
import type { ServiceRegistry } from '../state/services/service-registry.ts';
import type { Ledger } from '../subscribers/ledger/ledger.ts';
import type { LeadershipState } from '../term/leadership-state.ts';
import { type ConsoleSource, createConsoleServer } from './console/console-server.ts';
import { PlanNotes, plannedNodes, serviceDocuments } from './console/fleet-documents.ts';
import type { FleetNews } from './console/fleet-news.ts';
import { nodeDocument } from './console/node-document.ts';
import type { NodeQueries } from './console/node-queries.ts';
import { pageOf } from './console/page.ts';
import { pageHtml } from './console/page-html.ts';
import { ruleOnNode } from './console/rule-on-node.ts';
import { rulesDocument } from './console/rules-document.ts';
import { diff } from './diff.ts';

const CLOSE_GRACE_MS = 200;
const READ_TIMEOUT_MS = 5000;

export type ConsoleOptions = {
  config: CoordinatorConfig;
  nodes: NodeQueries;
  evaluator: { tally: ServiceTally };
  labelerOptions: WhatIfOptions;
  services: () => readonly Service[];
  serviceRegistry: ServiceRegistry;
  /** The objects of all kinds that are not in force. */
  refusedObjects: () => readonly RefusedObject[];
  /** NodeServices that select no node, by name. */
  servicesNowhere: () => readonly string[];
  rules: RuleDirectory | undefined;
  /** Explains what kube-scheduler would be answered about a pod, node by node. */
  explainPod: (pod: unknown, names: readonly string[]) => Promise<Generator<undefined, { nodes: object[] }>>;
  ledger: Ledger;
  news: FleetNews;
  replica: () => ReplicaDocument;
  client: KubeClient;
  leadershipState: Pick<LeadershipState, 'leads' | 'leaderConsoleUrl'>;
  clock: Clock;
};

/** Opens the console at the address that `--console-listen` names, until the program stops. Throws LISTEN_FAILED. */
export async function openConsole(
  text: string,
  options: ConsoleOptions,
  life: Lifecycle,
): Promise<BoundAddress | undefined> {
  const address = listenAddress(text);
  if (!address) return undefined;
  const server = createConsoleServer(consoleSource(options), address.host, options.clock);
  const bound = await listen(server, address);
  life.onStop('console', () => closeServer(server, CLOSE_GRACE_MS));
  return bound;
}

function consoleSource(options: ConsoleOptions): ConsoleSource {
  const {
    nodes,
    evaluator,
    services,
    serviceRegistry,
    rules,
    explainPod,
    ledger,
    news,
    replica,
    client,
    leadershipState,
  } = options;
  const html = pageHtml();
  const page = html === undefined ? undefined : pageOf(html);
  return {
    node: (name) => {
      const facts = nodes.explain(name);
      const changesSince = ledger.summary().since;
      return facts && { ...nodeDocument(facts, services(), replica()), changesSince };
    },
    nodes: () => {
      const refused = options.refusedObjects();
      const nowhere = options.servicesNowhere();
      const eventId = leadershipState.leads() ? { eventId: news.follow() } : {};
      return {
        head: {
          ...{ replica: replica(), ...eventId },
          ...(refused.length > 0 ? { refused } : {}),
          ...(nowhere.length > 0 ? { nowhere } : {}),
        },
        list: 'nodes',
        items: nodes
          .names()
          .values()
          .map((name) => news.summary(name)),
      };
    },
    plan: () => {
      const notes = new PlanNotes();
      const items = plannedNodes(nodes, notes);
      return { head: { replica: replica() }, list: 'nodes', items, tail: () => notes.document() };
    },
    services: () => {
      const labels = () => nodes.fleet.nodes().map((node) => node.labels);
      return { replica: replica(), services: serviceDocuments(serviceRegistry, evaluator.tally, labels) };
    },
    audit: () => ({ head: { replica: replica(), ...ledger.summary() }, list: 'entries', items: ledger.entries() }),
    rules: (label) =>
      rulesDocument({
        rules: rules?.ruleSet.rules ?? [],
        problems: rules ? [...rules.problems(), ...rules.ignored()] : [],
        nodes: nodes.names(),
        intent: (name) => nodes.decide(name)?.intent,
        label,
      }),
    ruleOnNode: (label, node) => {
      const decision = nodes.decide(node);
      const found = rules && decision && ruleOnNode(label, decision, rules.ruleSet, options.labelerOptions);
      return found && { replica: replica(), ...found };
    },
    schedule: async ({ namespace, name }) => {
      const pod = await readPod(client, namespace, name);
      if (!pod) return undefined;
      const explained = await explainPod(pod, nodes.names());
      const { nodes: items, ...head } = await new Slices().run(explained);
      return { head: { replica: replica(), ...head }, list: 'nodes', items };
    },
    diff: async (request) => {
      const found = await diff(request, options, new Slices());
      const { nodes, ...head } = found;
      return { head: { replica: replica(), ...head }, list: 'nodes', items: nodes };
    },
    readers: () => news.readers,
    stream: (reader) => news.open(reader),
    page: () => page,
    leaderUrl: () => (leadershipState.leads() ? undefined : leadershipState.leaderConsoleUrl()),
  };
}

/** Syntax of the names of namespaces and pods. Anything else could have another meaning in a selector or a path. */
const NAME = /^[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?$/;

/** Lists instead of getting the pod, since RBAC only permits list and watch. */
async function readPod(client: KubeClient, namespace: string, name: string): Promise<KubeObject | undefined> {
  if (!NAME.test(namespace) || !NAME.test(name)) return undefined;
  const { items } = await client.request<{ items: KubeObject[] }>({
    method: 'GET',
    path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`,
    query: { fieldSelector: `metadata.name=${name}` },
    timeoutMs: READ_TIMEOUT_MS,
  });
  return items[0];
}
