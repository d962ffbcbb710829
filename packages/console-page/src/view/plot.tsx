import { ago, timeOfDay } from '../model/format.ts';
import { TROUBLES, troubles } from '../model/node-state.ts';
import type { Sample } from '../model/readiness-history.ts';
import { number, plural, STATE_WORDS } from '../model/words.ts';
import { Glyph } from './parts.tsx';
import { useStore } from './use-store.ts';

const HOUR_MS = 3_600_000;
const WIDTH = 720;
const HEIGHT = 72;

type Piece = { fromMs: number; toMs: number; sample: Sample };

/**
 * How many nodes were in trouble over the last hour. Those alone, as three of five thousand could not be seen. What is not
 * known, since the page was not open or had no connection, is hatched.
 */
export function Plot() {
  const store = useStore();
  store.version.value;
  const nowMs = store.nowMs.value;
  const { samples } = store.history;
  const pieces = piecesOf(samples, nowMs);
  const known = pieces.flatMap(({ sample, fromMs }) =>
    sample.counts ? [{ fromMs, worst: troubles(sample.counts) }] : [],
  );
  const worst = known.reduce((most, each) => (each.worst > most.worst ? each : most), { fromMs: nowMs, worst: 0 });
  const most = Math.max(1, worst.worst);
  const x = (ms: number) => Math.max(0, ((ms - nowMs + HOUR_MS) / HOUR_MS) * WIDTH);
  const y = (count: number) => HEIGHT - (count / most) * (HEIGHT - 6);
  const present = TROUBLES.filter((state) => pieces.some(({ sample }) => (sample.counts?.[state] ?? 0) > 0));
  const begin = samples[0]?.atMs ?? nowMs;
  const summary =
    worst.worst === 0
      ? `No node was in trouble since ${timeOfDay(begin)}, when this page began to watch.`
      : `At most ${plural(worst.worst, 'node')} in trouble at once, ${ago(worst.fromMs, nowMs)} (${timeOfDay(worst.fromMs)}). Watched since ${timeOfDay(begin)}.`;
  return (
    <figure class="plot">
      <figcaption>
        <h2>The last hour</h2>
        <span>{summary}</span>
        {present.map((state) => (
          <span key={state} class="badge">
            <Glyph state={state} />
            {STATE_WORDS[state].name}
          </span>
        ))}
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={summary}>
        <defs>
          <pattern id="not-known" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <path class="hatch" d="M0 0V6" />
          </pattern>
        </defs>
        {begin > nowMs - HOUR_MS && <rect class="gap" x="0" y="0" width={x(begin)} height={HEIGHT} />}
        {pieces
          .filter(({ sample }) => sample.counts === null)
          .map(({ fromMs, toMs }) => (
            <rect
              key={fromMs}
              class="gap lost"
              x={x(fromMs)}
              y="0"
              width={Math.max(1, x(toMs) - x(fromMs))}
              height={HEIGHT}
            />
          ))}
        {present.map((state) => (
          <path key={state} class={`area ${state}`} d={areaOf(pieces, TROUBLES.indexOf(state), x, y)} />
        ))}
        <path class="axis" d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} />
      </svg>
      <p class="scale" aria-hidden="true">
        <span>−60 min</span>
        <span>−45</span>
        <span>−30</span>
        <span>−15</span>
        <span>now</span>
      </p>
      <span class="most" aria-hidden="true">
        {number(most)}
      </span>
    </figure>
  );
}

function piecesOf(samples: readonly Sample[], nowMs: number): Piece[] {
  return samples.map((sample, index) => ({
    fromMs: Math.max(sample.atMs, nowMs - HOUR_MS),
    toMs: samples[index + 1]?.atMs ?? nowMs,
    sample,
  }));
}

/** One rectangle for each piece, stacked on the worse states. */
function areaOf(
  pieces: readonly Piece[],
  rank: number,
  x: (ms: number) => number,
  y: (count: number) => number,
): string {
  return pieces
    .flatMap(({ fromMs, toMs, sample: { counts } }) => {
      if (!counts) return [];
      const below = TROUBLES.slice(0, rank).reduce((sum, state) => sum + counts[state], 0);
      const count = counts[TROUBLES[rank] ?? 'unknown'];
      if (count === 0) return [];
      const [left, right] = [x(fromMs), Math.max(x(toMs), x(fromMs) + 1)].map((value) => value.toFixed(1));
      const [top, bottom] = [y(below + count), y(below)].map((value) => value.toFixed(1));
      return [`M${left} ${bottom}V${top}H${right}V${bottom}Z`];
    })
    .join('');
}
