import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { inForce } from './acceptance.ts';
import { type NodeTruth, SERVICE_NAMES } from './truth.ts';
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
  const isThere = world.startupGate.map((required) => has(world, truth, { required, verdicts }));
  const isOpen = isThere.every((each) => each === true) || isDue(world, truth);
  const mayBeOpen = isThere.every((each) => each !== false) || isDue(world, truth) === undefined;
  wants.set(`taint:${STARTUP_TAINT}`, isOpen ? undefined : mayBeOpen ? ANY : HOLD);
}

/** When no gate holds a Node any more, by time alone. */
export function gatesOpenMs({ startupGate, nodes, truths, termBeganMs }: World): number {
  if (!startupGate) return 0;
  const gated = [...truths.values()].filter(({ name }) =>
    nodes.get(name)?.spec?.taints?.some(({ key }) => key === STARTUP_TAINT),
  );
  return Math.max(0, ...gated.map((truth) => Math.max(truth.createdAtMs, termBeganMs) + MAX_WAIT_MS + 2 * SLACK_MS));
}

/** A name is that of a service, which is not waited for where it is not for the node, or else a label. */
function has(
  { nodes, services }: World,
  { name }: NodeTruth,
  { required, verdicts }: { required: string; verdicts: ReadonlyMap<string, Verdict> },
): boolean | undefined {
  const names = [...SERVICE_NAMES, ...inForce(services.values()).map((service) => service.name)];
  if (!names.includes(required)) return nodes.get(name)?.metadata.labels?.[required] !== undefined;
  const verdict = verdicts.get(required);
  return verdict === 'open' ? undefined : verdict === undefined || verdict === 'ready';
}

/** §4: by the time since the creation; where the wall clock is wrong, by the monotonic time since it was first seen. */
function isDue({ nowMs, termBeganMs, wallClockJumped }: World, { createdAtMs }: NodeTruth): boolean | undefined {
  const leftMs = createdAtMs + MAX_WAIT_MS - nowMs;
  if (leftMs > SLACK_MS) return wallClockJumped && createdAtMs < termBeganMs + SLACK_MS ? undefined : false;
  const seenMs = wallClockJumped ? Math.max(createdAtMs, termBeganMs) : createdAtMs;
  return nowMs - seenMs >= MAX_WAIT_MS + SLACK_MS || undefined;
}
