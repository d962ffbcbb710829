/** What one try with a part of the suspects showed; `stop` ends the search. */
export type Probe<Stop> = { kind: 'accepted' } | { kind: 'refused'; message: string } | { kind: 'stop'; stop: Stop };

export type Isolation<T, Stop> = {
  /** Each is refused together with what was accepted. */
  offending: { suspect: T; message: string }[];
  /** Goes through, all together. */
  accepted: T[];
  /** Why the search ended before every suspect was found to be one or the other. */
  ended?: { kind: 'whole-refused'; message: string } | { kind: 'probes-spent' } | { kind: 'stop'; stop: Stop };
};

/** Finds several offenders among thousands of suspects, and ends soon where nearly all offend. */
export const PROBES_MAX = 64;

/**
 * Finds the suspects that a request is refused for, by trying halves. Begins with none of them: what is refused even
 * then is not refused for any of them. A part is tried together with what was accepted before, so that what goes
 * through in the end goes through as a whole. Takes about 2·log2(n) probes for one offender among n.
 */
export async function isolate<T, Stop>(
  suspects: readonly T[],
  probe: (part: readonly T[]) => Promise<Probe<Stop>>,
): Promise<Isolation<T, Stop>> {
  const found: Isolation<T, Stop> = { offending: [], accepted: [] };
  const bare = await probe([]);
  if (bare.kind === 'refused') return { ...found, ended: { kind: 'whole-refused', message: bare.message } };
  if (bare.kind === 'stop') return { ...found, ended: bare };
  const parts = halves(suspects);
  for (let probes = 1; ; probes += 1) {
    const part = parts.pop();
    if (!part) return found;
    if (probes >= PROBES_MAX) return { ...found, ended: { kind: 'probes-spent' } };
    const verdict = await probe([...found.accepted, ...part]);
    if (verdict.kind === 'stop') return { ...found, ended: verdict };
    const [suspect] = part;
    if (verdict.kind === 'accepted') found.accepted.push(...part);
    else if (part.length === 1 && suspect !== undefined) found.offending.push({ suspect, message: verdict.message });
    else parts.push(...halves(part));
  }
}

/** The first half last, to be taken first. */
function halves<T>(part: readonly T[]): (readonly T[])[] {
  const middle = part.length >> 1;
  return [part.slice(middle), part.slice(0, middle)].filter(({ length }) => length > 0);
}
