import type { ComponentChildren } from 'preact';
import { ago, timeOfDay, visible } from '../model/format.ts';
import type { State } from '../model/node-state.ts';
import { hashOf } from '../model/route.ts';
import { STATE_WORDS } from '../model/words.ts';
import { DISPUTED_CORNER, GLYPH_SIDE, GLYPHS } from './glyphs.ts';

/** Text from outside rollcall. It cannot change the direction of the text around it. */
export function Foreign({ text }: { text: string }) {
  return <bdi>{visible(text)}</bdi>;
}

export function Glyph({ state, isDisputed = false }: { state: State; isDisputed?: boolean }) {
  const { isFilled, mark } = GLYPHS[state];
  return (
    <svg class={`glyph ${state}`} viewBox={`0 0 ${GLYPH_SIDE} ${GLYPH_SIDE}`} aria-hidden="true">
      <rect class={isFilled ? 'filled' : 'outline'} x="0.5" y="0.5" width="11" height="11" rx="1.5" />
      <path class={isFilled ? 'mark on-fill' : 'mark'} d={mark} />
      {isDisputed && <path class="disputed" d={DISPUTED_CORNER} />}
    </svg>
  );
}

/** How long ago something was, with the time of day behind it. */
export function Moment({ at, now }: { at: string; now: number }) {
  return (
    <time dateTime={visible(at)} title={timeOfDay(at)}>
      {ago(at, now)}
    </time>
  );
}

/** A state in shape, color and word. */
export function StateBadge({ state }: { state: State }) {
  return (
    <span class="badge">
      <Glyph state={state} />
      {STATE_WORDS[state].name}
    </span>
  );
}

export function NodeLink({ name }: { name: string }) {
  return (
    <a href={hashOf({ view: 'node', name })} title={visible(name)}>
      <Foreign text={name} />
    </a>
  );
}

export function Notice({ kind, children }: { kind: 'bad' | 'warn' | 'info'; children: ComponentChildren }) {
  return <p class={`notice ${kind}`}>{children}</p>;
}

/** What is shown until a document is there, or instead of it. */
export function Waiting({ problem }: { problem: string | undefined }) {
  return problem === undefined ? <p class="quiet">Reading…</p> : <Notice kind="bad">{problem}.</Notice>;
}

/** The heading of a view. It gets the focus when the view is opened, so that a screen reader begins there. */
export function Title({ children }: { children: ComponentChildren }) {
  return (
    <h1 id="title" tabIndex={-1}>
      {children}
    </h1>
  );
}
