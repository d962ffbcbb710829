import type { SeenNode, Write } from '../decide/intent/kinds/kind.ts';
import { WRITES } from '../decide/intent/kinds/kinds.ts';
import type { NodeKeyRef, NodeRef } from '../decide/intent/plan.ts';
import type { WriteOutcome } from './classify.ts';
import type { NodeWriter } from './node-writer.ts';
import type { WriteLimits } from './write-gate.ts';

/** What came of one try with a part of the suspects. `yielded`: something is to be written that waits for no search. */
export type Probe = WriteOutcome | { kind: 'yielded' };

type Isolation<T> = {
  /** Each is refused together with what was accepted. */
  offending: { suspect: T; message: string }[];
  /** Goes through, all together. */
  accepted: T[];
  /** Why the search ended before every suspect was found to be one or the other. */
  ended?: { kind: 'whole-refused'; message: string } | { kind: 'probes-spent' } | { kind: 'stop'; stop: Probe };
};

/** Finds several offenders among thousands of suspects, and ends soon where nearly all offend. */
export const PROBES_MAX = 64;

/**
 * Finds the suspects that a request is refused for, by trying halves. Begins with none of them: what is refused even
 * then is not refused for any of them. A part is tried together with what was accepted before, so that what goes
 * through in the end goes through as a whole. Takes about 2·log2(n) probes for one offender among n.
 */
export async function isolate<T>(
  suspects: readonly T[],
  probe: (part: readonly T[]) => Promise<Probe>,
): Promise<Isolation<T>> {
  const found: Isolation<T> = { offending: [], accepted: [] };
  const bare = await probe([]);
  if (isRefused(bare)) return { ...found, ended: { kind: 'whole-refused', message: bare.message } };
  if (bare.kind !== 'applied') return { ...found, ended: { kind: 'stop', stop: bare } };
  const parts = halves(suspects);
  for (let probes = 1; ; probes += 1) {
    const part = parts.pop();
    if (!part) return found;
    if (probes >= PROBES_MAX) return { ...found, ended: { kind: 'probes-spent' } };
    const verdict = await probe([...found.accepted, ...part]);
    const [suspect] = part;
    if (verdict.kind === 'applied') found.accepted.push(...part);
    else if (!isRefused(verdict)) return { ...found, ended: { kind: 'stop', stop: verdict } };
    else if (part.length === 1 && suspect !== undefined) found.offending.push({ suspect, message: verdict.message });
    else parts.push(...halves(part));
  }
}

function isRefused(outcome: Probe): outcome is Extract<Probe, { kind: 'denied' | 'invalid' }> {
  return outcome.kind === 'denied' || outcome.kind === 'invalid';
}

/** The first half last, to be taken first. */
function halves<T>(part: readonly T[]): (readonly T[])[] {
  const middle = part.length >> 1;
  return [part.slice(middle), part.slice(0, middle)].filter(({ length }) => length > 0);
}

export type RefusedKeys = Pick<Isolation<NodeKeyRef>, 'ended'> & {
  offending: { ref: NodeKeyRef; message: string }[];
  /** The part of the write that goes through; `undefined` if none of the suspects does. */
  good: Write | undefined;
};

export type SearchDependencies = {
  writer: NodeWriter;
  /** Sends a probe in its turn; `undefined` when nothing is sent any more. */
  probe: (send: (limits: WriteLimits) => Promise<WriteOutcome>) => Promise<WriteOutcome | undefined>;
  /** Asked before each probe: whether the search is to end for something else. */
  mustYield: () => boolean;
};

/**
 * Finds the keys that a write is refused for. Only keys that the write would change or let go of are suspects; the others
 * are in every probe, and a suspect that is left out stays as it is on the Node. Probes are rehearsals: none of them writes.
 */
export async function findRefused(
  node: NodeRef,
  write: Write,
  seen: SeenNode | undefined,
  { writer, probe, mustYield }: SearchDependencies,
): Promise<RefusedKeys> {
  const { suspects, part } = WRITES[write.write];
  const { offending, accepted, ended } = await isolate(suspects(write, seen), async (tried): Promise<Probe> => {
    if (mustYield()) return { kind: 'yielded' };
    const rehearsed = part(write, tried, seen);
    const outcome = await probe((limits) => writer.send(node, rehearsed, { ...limits, rehearsal: true }));
    return outcome ?? { kind: 'fenced' };
  });
  const refused = offending.map(({ suspect, message }) => ({ ref: suspect, message }));
  const good = accepted.length > 0 ? part(write, accepted, seen) : undefined;
  return { offending: refused, good, ...(ended ? { ended } : {}) };
}
