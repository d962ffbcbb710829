import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import type { FullReport, Heartbeat } from '@rollcall/common/report.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { KEYS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { NodeQueries } from '../answer/console/node-queries.ts';
import { Evaluator, type EvaluatorOptions } from '../decide/evaluator.ts';
import { ChangeLog } from '../decide/intent/changes.ts';
import { NOTHING_CONFIGURED } from '../decide/labelers/labelers.test-fixtures.ts';
import type { KubeClient, WriteFence } from '../kube/client.ts';
import { LeaderRequests } from '../kube/leader-requests.ts';
import type { Pod } from '../kube/objects.ts';
import { registryOf } from '../model/keys/key-registry.test-fixtures.ts';
import { serviceOf } from '../model/services.test-fixtures.ts';
import { Fleet, type FleetOptions } from '../state/fleet.ts';
import { observePod } from '../state/observed-pod.ts';
import { NodeWriter } from '../write/node-writer.ts';
import { SkippedKeys } from '../write/skipped-keys.ts';
import { WriteQueue } from '../write/write-queue.ts';
import { NodeController, type NodeControllerOptions, type PreparedPlan } from './node-controller.ts';
import type { Subscribers } from './subscribers.ts';

const LABEL = 'gitpod.io/ws-daemon_ready_ns_default';
const POOL = 'example.com/pool';

const SERVICE = serviceOf();

type AgentPod = { uid: string; node?: string; ready?: boolean; ageSeconds?: number };

/** Subscribers that ignore everything. */
export const NO_SUBSCRIBERS: Subscribers = {
  changed: () => {},
  gone: () => {},
  restart: () => {},
  happened: () => {},
};

type Change = Partial<
  Omit<FleetOptions & EvaluatorOptions, 'skipped' | 'fleet'> &
    Pick<NodeControllerOptions, 'mayDecide' | 'logger' | 'historyWentBack'>
> & {
  subscribers?: Partial<Subscribers>;
  client?: KubeClient;
  fence?: WriteFence;
  dryRun?: boolean;
};

/** A controller that leads, over nodes that have the label of ws-daemon, with a clock of its own. It writes nothing. */
export function stage({ subscribers = {}, client, fence = { remainingMs: () => 0 }, ...change }: Change = {}) {
  const clock = new FakeClock();
  const keys = change.keys ?? registryOf({ watchedServices: [SERVICE], poolLabels: [POOL] });
  const shared = { clock, logger: silentLogger(), services: () => [SERVICE], mayDecide: () => true, ...change };
  const fleet = new Fleet({
    servicesKnown: () => true,
    poolLabels: [POOL],
    windowMs: 30_000,
    guardPercent: 55,
    annotationsOfInterest: keys.names('annotation'),
    allAnnotations: false,
    ...(change.rules ? { questions: () => change.rules?.().questions ?? [] } : {}),
    ...shared,
  });
  const skipped = new SkippedKeys(clock);
  const options = {
    fleet,
    skipped,
    keys,
    ...NOTHING_CONFIGURED,
    holdsOn: () => ({ pods: [], unknown: undefined }),
    massWithdrawalDelayMs: 60_000,
    ...shared,
  } as EvaluatorOptions;
  const evaluator = new Evaluator(options);
  const signal = new AbortController().signal;
  const requests = new LeaderRequests({ client: client as KubeClient, fence, signal });
  const writer = new WriteQueue<PreparedPlan>({
    writer: new NodeWriter(requests),
    observed: (node) => fleet.node(node),
    skipped,
    dryRun: false,
    random: () => 0,
    registry: new Registry(),
    ...shared,
  });
  const changes = new ChangeLog();
  const queries = new NodeQueries({ fleet, evaluator, skipped, changes, ...shared });
  const all = { ...NO_SUBSCRIBERS, ...subscribers };
  const historyWentBack = change.historyWentBack ?? (() => {});
  const controller = new NodeController({
    ...{
      fleet,
      evaluator,
      writer,
      changes,
      skipped,
      subscribers: all,
      historyWentBack,
      ownersChanged: () => {},
      ...shared,
    },
  });
  const servicePods = fleet.servicePods.handlers('default');
  servicePods.onReplace([]);
  let version = 0;
  /** `stranger`: another writer set its label. `more`: labels that another writer set as well. `notes`: annotations. */
  const addNode = (name: string, { uid = `uid-${name}`, pool = '', stranger = false, more = {}, notes = {} } = {}) => {
    version += 1;
    const labels = { [LABEL]: 'true', ...(pool ? { [POOL]: pool } : {}), ...more };
    const fieldsV1 = { 'f:metadata': { 'f:labels': { [`f:${LABEL}`]: {} } } };
    const managedFields = [{ manager: stranger ? 'kubectl' : 'rollcall', operation: 'Apply' as const, fieldsV1 }];
    const annotations = { [KEYS_ANNOTATION]: `{"label:${LABEL}":"gitpod"}`, ...notes };
    const metadata = { name, uid, resourceVersion: `${version}`, labels, annotations, managedFields };
    fleet.nodeHandlers.onUpsert(fleet.observe({ metadata }));
  };
  const podOf = (name: string, node: string, ready: boolean, createdMs: number): Pod => ({
    metadata: {
      name,
      uid: name,
      namespace: 'default',
      resourceVersion: '1',
      creationTimestamp: new Date(createdMs).toISOString(),
      labels: { component: 'ws-daemon' },
    },
    spec: { nodeName: node },
    status: { podIP: '10.1.0.1', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  });
  const servicePod = (node = 'n') =>
    servicePods.onUpsert(observePod(podOf(`ws-daemon-${node}`, node, true, clock.now())));
  const agentPod = ({ uid, node = 'n', ready = true, ageSeconds = 3600 }: AgentPod) => {
    const pod = observePod(podOf(uid, node, ready, clock.now() - ageSeconds * 1000));
    fleet.agentPods.handlers().onUpsert(pod);
    return { gone: () => fleet.agentPods.handlers().onDelete(pod) };
  };
  const sequences = new Map<string, number>();
  /** The session of each agent. An agent begins a new session when the reply asks for it. */
  const sessions = new Map<string, number>();
  /** What each boot was told to check. */
  const checks = new Map<string, { digest: string }>();
  type Said = { node?: string; pod?: string; ready?: boolean; leaving?: boolean; full?: boolean; nodeUid?: string };
  /** One report of an agent, who sends it in full where it is asked to. */
  const report = (
    agent: string,
    { node = 'n', pod = agent, ready = true, leaving = false, full = false, ...rest }: Said = {},
  ) => {
    const session = sessions.get(agent) ?? 0;
    const boot = session === 0 ? agent : `${agent} ${session}`;
    const sequence = (sequences.get(boot) ?? 0) + 1;
    sequences.set(boot, sequence);
    const check = checks.get(boot);
    const contentDigest = `${boot} ${ready} ${check?.digest}`;
    const heartbeat: Heartbeat = { node, boot, sequence, digest: contentDigest, ...(leaving ? { leaving } : {}) };
    const services = [
      { name: 'ws-daemon', ready, since: '2026-01-01T00:00:00Z', evidence: 'tcp', digest: 'none', ...check },
    ];
    const whole: FullReport = { ...heartbeat, services, devices: [], facts: {} };
    const identity = { node, nodeUid: rest.nodeUid ?? `uid-${node}`, pod: { name: pod, uid: pod }, issuedAtSeconds: 1 };
    const { reply } = fleet.accept(full ? whole : heartbeat, identity);
    if (reply.newSession) sessions.set(agent, session + 1);
    const assigned = reply.services?.find(({ name }) => name === 'ws-daemon');
    const isNew = assigned !== undefined && assigned.digest !== check?.digest;
    if (isNew) checks.set(boot, { digest: assigned.digest });
    if ((reply.full || reply.newSession || isNew) && !leaving) report(agent, { node, pod, ready, full: true, ...rest });
  };
  /** Time passes second by second, as the coordinator sees it; every 10 s, `meanwhile`. */
  const pass = async (seconds: number, meanwhile: () => void = () => {}) => {
    for (let second = 1; second <= seconds; second += 1) {
      await clock.advance(1000);
      if (second % 10 === 0) meanwhile();
      controller.tick();
    }
  };
  /** Whether the next plan withdraws the label. */
  const fate = (node = 'n') => (carryOut(controller, node)?.withdrawal?.labels.includes(LABEL) ? 'withdrawn' : 'kept');
  const evaluated = (node = 'n') => evaluator.evaluate(node)?.evaluated;
  const parts = { clock, fleet, skipped, options, evaluator, writer, queries, controller };
  return { ...parts, evaluated, addNode, servicePod, agentPod, report, pass, fate };
}

/** The plan for a node, whose request is in flight from now on, as the writer would have it. */
export function carryOut(controller: NodeController, node: string): PreparedPlan | undefined {
  const plan = controller.prepare(node);
  if (plan) controller.sent(plan);
  return plan;
}
