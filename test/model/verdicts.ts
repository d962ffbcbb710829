import { isOfCluster, OFFERED } from './actors.ts';
import { type Checks, checkId, type NodeServiceObject } from './node-services.ts';
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

/** §10: all must pass: one that fails decides; else one that is unknown. What was seen counts before what was not heard. */
function composed(verdicts: readonly Verdict[]): Verdict {
  return (['not-ready', 'open', 'silent', 'unknown'] as const).find((each) => verdicts.includes(each)) ?? 'ready';
}

/** §10: a pod of it on the node is Ready and not terminating. */
function hasGoodPod(truth: NodeTruth, component: string): boolean {
  const pod = truth.pods[component];
  return pod?.ready === true && !pod.terminating && isOfMachine(pod, truth);
}

/** §10: a pod that started before the Node was created counts only after its Ready condition changed since. */
export function isOfMachine({ createdAtMs, readySinceMs }: ServicePod, { creationTimestampMs }: NodeTruth): boolean {
  return createdAtMs >= creationTimestampMs || readySinceMs > creationTimestampMs;
}

const seen = (is: boolean): Verdict => (is ? 'ready' : 'not-ready');

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
export function verdictOn(world: World, truth: NodeTruth, service: NodeServiceObject, hearing: Hearing): Verdict {
  const { name, spec } = service;
  const { pods, port, offered, device } = spec.checks;
  if (isStarted(truth, service)) return 'ready';
  const verdicts: Verdict[] = [];
  if (pods !== undefined) verdicts.push(seen(hasGoodPod(truth, pods)));
  if (offered !== undefined) verdicts.push(seen(OFFERED[offered].isSo(world, truth)));
  if (device) verdicts.push(agentVerdict(hearing, truth.said?.device));
  if (port !== undefined)
    verdicts.push(
      hasOtherLists(truth) || isDisputed(world, truth)
        ? 'open'
        : probeVerdict(hearing, spec.checks, truth.said?.checks.get(checkId(name, spec.checks))),
    );
  return composed(verdicts);
}

/** What is seen of a service of Gitpod, by what sees it. */
export function gitpodEvidence(truth: NodeTruth, service: ServiceName, hearing: Hearing): Evidence {
  const agent = hearing === 'unheard' ? undefined : hearing !== 'silent' && truth.said?.up[service] === true;
  return { pod: hasGoodPod(truth, service), agent };
}

/** What is seen of a NodeService. */
export function evidenceOf(world: World, truth: NodeTruth, service: NodeServiceObject, hearing: Hearing): Evidence {
  const { name, spec } = service;
  const { pods, port, probe = 'tcp', offered, device } = spec.checks;
  if (isStarted(truth, service)) return {};
  const says = truth.said?.checks.get(checkId(name, spec.checks));
  return {
    pod: pods === undefined ? undefined : hasGoodPod(truth, pods),
    offered: offered && OFFERED[offered].isSo(world, truth),
    device: device && truth.said?.device,
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
