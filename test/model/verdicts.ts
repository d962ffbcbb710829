import { isOfCluster } from './actors.ts';
import { type Checks, checkId, type NodeServiceObject } from './node-services.ts';
import { startOf } from './sights.ts';
import { type Hearing, WINDOW_MS } from './silence.ts';
import { isStarted } from './startup.ts';
import type { NodeTruth, ServiceName, ServicePod } from './truth.ts';
import type { World } from './world.ts';

/** So long after its last report an agent may count. */
const HEARD_MS = 2 * WINDOW_MS;

/** `silent`: not ready by silence alone. `unknown`: what is published stays. `open`: the model cannot tell. */
export type Verdict = 'ready' | 'not-ready' | 'silent' | 'unknown' | 'open';

/** What was seen of a service, by what sees it; `undefined` where that is not known. */
export type Evidence = Readonly<Record<string, boolean | undefined>>;

/** What counts of what the coordinator sees itself of a service; `open`: for a moment the model cannot tell. */
export type Seen = { pods: boolean | 'open' | undefined; offered: boolean | 'open' | undefined };

/** §10: all must pass: one that fails decides; else one that is unknown. What was seen counts before what was not heard. */
function composed(verdicts: readonly Verdict[]): Verdict {
  return (['not-ready', 'open', 'silent', 'unknown'] as const).find((each) => verdicts.includes(each)) ?? 'ready';
}

/** §10: a pod of it on the node is Ready and not terminating. */
export function hasGoodPod(truth: NodeTruth, component: string): boolean {
  const pod = truth.pods[component];
  return pod?.ready === true && !pod.terminating && isOfMachine(pod, truth);
}

/** §10: a pod that started before the Node was created counts only after its Ready condition changed since. */
export function isOfMachine({ createdAtMs, readySinceMs }: ServicePod, { creationTimestampMs }: NodeTruth): boolean {
  return createdAtMs >= creationTimestampMs || readySinceMs > creationTimestampMs;
}

const seen = (is: boolean | 'open'): Verdict => (is === 'open' ? 'open' : is ? 'ready' : 'not-ready');

/** §3, §10: what the agent says of the check as it is now, or of devices (`undefined` if nothing), as long as it is heard. */
function agentVerdict(hearing: Hearing, says: boolean | undefined): Verdict {
  if (hearing !== 'speaks') return ({ unheard: 'unknown', silent: 'silent', open: 'open' } as const)[hearing];
  return says === undefined ? 'unknown' : seen(says);
}

/** §12: a failure of what all nodes share may be unknown: for a while, and while most nodes have it. */
function probeVerdict(hearing: Hearing, { probe = 'tcp' }: Checks, says: boolean | undefined): Verdict {
  return isOfCluster(probe) && says === false && hearing === 'speaks' ? 'open' : agentVerdict(hearing, says);
}

/** What the evidence says of a service of Gitpod, without damping. */
export function verdictOf(world: World, truth: NodeTruth, service: ServiceName, hearing: Hearing): Verdict {
  const agent = isDisputed(world, truth) ? 'open' : agentVerdict(hearing, truth.said?.up[service] ?? false);
  return composed([seen(hasGoodPod(truth, service)), agent]);
}

/** What the evidence says of a NodeService that selects the node, without damping. */
export function verdictOn(
  world: World,
  truth: NodeTruth,
  service: NodeServiceObject,
  { hearing, counts }: { hearing: Hearing; counts: Seen },
): Verdict {
  const { spec } = service;
  const { port, device } = spec.checks;
  if (isStarted(truth, service)) return 'ready';
  const verdicts: Verdict[] = [];
  if (counts.pods !== undefined) verdicts.push(seen(counts.pods));
  if (counts.offered !== undefined) verdicts.push(seen(counts.offered));
  if (device !== undefined) verdicts.push(agentVerdict(hearing, truth.said?.device));
  if (port !== undefined)
    verdicts.push(
      hasOtherLists(truth) || isDisputed(world, truth)
        ? 'open'
        : probeVerdict(hearing, spec.checks, saidOf(truth, service)),
    );
  return composed(verdicts);
}

/** What is seen of a service of Gitpod, by what sees it. */
export function gitpodEvidence(truth: NodeTruth, service: ServiceName, hearing: Hearing): Evidence {
  const agent = hearing === 'unheard' ? undefined : hearing !== 'silent' && truth.said?.up[service] === true;
  return { pod: hasGoodPod(truth, service), agent };
}

const known = (is: boolean | 'open' | undefined) => (is === 'open' ? undefined : is);

/** What the agent said of the check as it is now. */
export function saidOf({ said, pods }: NodeTruth, { name, spec }: NodeServiceObject): boolean | undefined {
  const pod = pods[spec.checks.pods ?? ''];
  return said?.checks.get(checkId(name, spec.checks, pod && startOf(pod.createdAtMs)));
}

/** What is seen of a NodeService. */
export function evidenceOf(
  truth: NodeTruth,
  service: NodeServiceObject,
  { hearing, counts }: { hearing: Hearing; counts: Seen },
): Evidence {
  const { port, probe = 'tcp', device } = service.spec.checks;
  if (isStarted(truth, service)) return {};
  const says = saidOf(truth, service);
  return {
    pod: known(counts.pods),
    offered: known(counts.offered),
    device: device === undefined ? undefined : truth.said?.device,
    agent:
      port === undefined || hearing === 'unheard' || (isOfCluster(probe) && !says)
        ? undefined
        : hearing === 'silent'
          ? false
          : says,
  };
}

/** Agents of two versions overlap, of which one may see what the other does not. One that hung is silent at last. */
export function isDisputed({ nowMs }: World, { agents, voices, said }: NodeTruth): boolean {
  const speaking = agents.filter(({ boot }) => nowMs - (voices.get(boot)?.atMs ?? Number.NaN) <= HEARD_MS);
  return said !== undefined && speaking.some(({ version = '' }) => version !== said.version);
}

/** §12: the agent alone speaks against the service (`isUnseen`), while a pod of it is Ready (`hasPod`). */
export function sightOf(
  truth: NodeTruth,
  component: string | undefined,
  verdict: Verdict,
  evidence: Evidence,
): { hasPod: boolean; isUnseen: boolean } {
  const hasPod = component !== undefined && hasGoodPod(truth, component);
  return { hasPod, isUnseen: hasPod && verdict === 'not-ready' && evidence['offered'] !== false };
}

/** One of two agents was not told yet of what the other checks. */
export function hasOtherLists({ alive, said }: NodeTruth): boolean {
  // What counts is what the one said that is left.
  if (said && alive.size > 0 && ![...alive].some(({ boot }) => boot === said.boot)) return true;
  return new Set([...alive].map(({ reportedList }) => reportedList)).size > 1;
}
