import type { Clock } from '@rollcall/common/clock.ts';
import { closeServer, listen } from '@rollcall/common/http-server.ts';
import type { Lifecycle } from '@rollcall/common/lifecycle.ts';
import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import { listenAddress } from './config.ts';
import { type ConsoleSource, createConsoleServer } from './console/console-server.ts';
import { nodeDocument, planDocument } from './console/node-document.ts';
import type { Decider } from './decider.ts';
import type { Role } from './ingest/report-handler.ts';
import type { KubeClient } from './kube/client.ts';
import type { KubeObject } from './kube/objects.ts';
import type { RuleDirectory } from './rule-files/rule-directory.ts';
import { readSchedulingPod } from './scheduler/scheduling-pod.ts';
import type { Scheduling } from './scheduling.ts';
import type { Service } from './services.ts';

const CLOSE_GRACE_MS = 200;
const READ_TIMEOUT_MS = 5000;

export type ConsoleOptions = {
  decider: Decider;
  services: readonly Service[];
  rules: RuleDirectory | undefined;
  scheduling: Scheduling;
  client: KubeClient;
  role: () => Role;
  dryRun: boolean;
  staleAfterSeconds: number;
  clock: Clock;
};

/** Opens the console at the address that `--console-listen` names, until the program stops. Throws LISTEN_FAILED. */
export async function openConsole(text: string, options: ConsoleOptions, life: Lifecycle): Promise<string> {
  const address = listenAddress(text);
  if (!address) return 'off';
  const server = createConsoleServer(consoleSource(options), address.host);
  const { host, port } = await listen(server, address);
  life.onStop('console', () => closeServer(server, CLOSE_GRACE_MS));
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function consoleSource({
  decider,
  services,
  rules,
  scheduling,
  client,
  role,
  dryRun,
  staleAfterSeconds,
  clock,
}: ConsoleOptions): ConsoleSource {
  // Agents report to the leader alone: what a standby knows of services is nothing to go by.
  const replica = () => ({
    ...role(),
    ...(role().leading ? {} : { note: 'This replica does not lead and hears no agent: ask the leader' }),
    guards: decider.fleet.freshness.activeGuards(),
    dryRun,
    staleAfterSeconds,
    now: rfc3339(clock.now()),
  });
  return {
    node: (name) => {
      const facts = decider.explain(name);
      return facts && { replica: replica(), ...nodeDocument(facts, services) };
    },
    nodes: () => ({ replica: replica(), nodes: decider.fleet.nodeNames().toSorted().map(summary) }),
    schedule: async ({ namespace, name }) => {
      const pod = await readPod(client, namespace, name);
      const names = decider.fleet.nodeNames().toSorted();
      return pod && { replica: replica(), ...scheduling.desk.explain(readSchedulingPod(pod), names) };
    },
    rules: () => ({ labels: [...(rules?.ruleSet.labels ?? [])], problems: rules?.problems() ?? [] }),
    plan: () => ({ replica: replica(), nodes: decider.fleet.nodeNames().toSorted().flatMap(planned) }),
  };

  function summary(name: string) {
    const judged = decider.judged(name);
    const readiness = [...(judged?.readiness ?? [])];
    return {
      name,
      pool: judged?.pool,
      agent: judged?.freshness.state,
      services: Object.fromEntries(readiness.map(([service, { state }]) => [service, state])),
      heldBack: readiness.filter(([, { damping }]) => damping).map(([service]) => service),
      pending: decider.plan(name) !== undefined,
    };
  }

  function planned(name: string) {
    const facts = decider.plan(name) && decider.explain(name);
    if (!facts?.plan) return [];
    const reasons = Object.fromEntries([...facts.intent].map(([key, { reason }]) => [key, reason]));
    return [{ name, ...planDocument(facts.plan), reasons }];
  }
}

/** What namespaces and pods are named like. Anything else could mean more to a selector, or in a path, than a name. */
const NAME = /^[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?$/;

/** By a list, as its rights to pods are to list and to watch them. */
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
