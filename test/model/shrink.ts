/** What can be shortened: steps with pauses between them, and whatever else belongs to it. */
type Steps<S> = { steps: readonly S[] };
type Paused = { pauseMs: number };

/** What is worth a try: without a part of the steps, and with pauses that are shorter. */
function* shorter<S extends Paused>(steps: readonly S[]): Generator<S[]> {
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < steps.length; at += size) yield [...steps.slice(0, at), ...steps.slice(at + size)];
  }
  for (const [at, step] of steps.entries()) {
    const pauseMs = step.pauseMs > 1000 ? Math.round(step.pauseMs / 2000) * 1000 : 0;
    if (pauseMs < step.pauseMs) yield steps.with(at, { ...step, pauseMs });
  }
}

/** The shortest history that is found to fail as well, by trying at most `triesMax` shorter ones. */
export async function shrink<H extends Steps<Paused>>(
  history: H,
  fails: (history: H) => Promise<boolean>,
  triesMax = 400,
): Promise<H> {
  let shortest = history;
  let tries = 0;
  for (let found = true; found; ) {
    found = false;
    for (const steps of shorter(shortest.steps)) {
      tries += 1;
      if (tries > triesMax) return shortest;
      const candidate = { ...shortest, steps };
      if (!(await fails(candidate))) continue;
      shortest = candidate;
      found = true;
      break;
    }
  }
  return shortest;
}
