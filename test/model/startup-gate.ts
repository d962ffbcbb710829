import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { inForce } from './acceptance.ts';
import { type NodeTruth, SERVICE_NAMES, type ServiceName } from './truth.ts';
import type { Verdict } from './verdicts.ts';
import { ANY, HOLD, type Want } from './want.ts';
import type { World } from './world.ts';

const MAX_WAIT_MS = 600_000;
/** Ticks are a second apart, and a Node is seen a moment after its creation. */
const SLACK_MS = 2500;

/** §4: removed when all that is required is there, or after the longest wait, and never put back. */
export function wantGate(
  wants: Map<string, Want>,
  { world, truth, verdicts }: { world: World; truth: NodeTruth; verdicts: ReadonlyMap<string, Verdict> },
): void {
  if (!world.startupGate) return;
  const serviceTaints = new Set(inForce(world).flatMap(({ spec }) => spec.publish?.taint?.key ?? []));
  const isThere = [
    ...world.startupGate.map((required) => has(world, truth, { required, verdicts })),
    ...(world.daemonSets.isOn ? world.daemonSets.areThere(truth, serviceTaints) : []),
    // While NodeServices are not known, any taint may be one of theirs.
    ...(world.daemonSets.isOn && (!world.servicesAreKnown || world.serviceWrites.areLost) ? [undefined] : []),
  ];
  const isOpen = isThere.every((each) => each === true) || isDue(world, truth);
  const mayBeOpen = isThere.every((each) => each !== false) || isDue(world, truth) === undefined;
  wants.set(`taint:${STARTUP_TAINT}`, isOpen ? undefined : mayBeOpen ? ANY : HOLD);
}

/** When no gate holds a Node any more, by time alone. */
export function gatesOpenMs({ startupGate, nodes, truths, termBeganMs, leaderProcess }: World): number {
  if (!startupGate) return 0;
  const gated = [...truths.values()].filter(({ name }) =>
    nodes.get(name)?.spec?.taints?.some(({ key }) => key === STARTUP_TAINT),
  );
  const lateMs = 2 * SLACK_MS + (leaderProcess?.clock.suspendedMs ?? 0);
  return Math.max(0, ...gated.map((truth) => Math.max(truth.createdAtMs, termBeganMs) + MAX_WAIT_MS + lateMs));
}

/** A name is that of a service, which is not waited for where it is not for the node, or else a label. */
function has(
  world: World,
  { name }: NodeTruth,
  { required, verdicts }: { required: string; verdicts: ReadonlyMap<string, Verdict> },
): boolean | undefined {
  const { nodes, servicesAreKnown } = world;
  if (!servicesAreKnown && !SERVICE_NAMES.includes(required as ServiceName)) return undefined;
  const names = [...SERVICE_NAMES, ...inForce(world).map((service) => service.name)];
  if (!names.includes(required)) return nodes.get(name)?.metadata.labels?.[required] !== undefined;
  const verdict = verdicts.get(required);
  return verdict === 'open' ? undefined : verdict === undefined || verdict === 'ready';
}

/** §4: by the time since the creation, by the monotonic clock where the leader saw the Node come, also as a standby. */
function isDue({ nowMs, termBeganMs, wallClockJumped, leaderProcess }: World, { createdAtMs }: NodeTruth) {
  const { startedMs = nowMs, clock } = leaderProcess ?? {};
  // Of these the process knows the age by the wall clock alone.
  const isByWallClock = wallClockJumped && createdAtMs < startedMs + SLACK_MS;
  const leftMs = createdAtMs + MAX_WAIT_MS - nowMs;
  if (leftMs > SLACK_MS) return isByWallClock ? undefined : false;
  const seenMs = isByWallClock ? Math.max(createdAtMs, termBeganMs) : createdAtMs;
  return nowMs - seenMs >= MAX_WAIT_MS + SLACK_MS + (clock?.suspendedMs ?? 0) || undefined;
}
