import { type Signal, useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks';
import { visible } from '../model/format.ts';
import { isDisputed, type State } from '../model/node-state.ts';
import { hashOf } from '../model/route.ts';
import { nodeSentence } from '../model/words.ts';
import { appearance } from './appearance.ts';
import { type CellLayout, cellAt, layOut, moveBy, positionOf } from './cell-layout.ts';
import { type Cell, CellPainter } from './cell-painter.ts';
import { Foreign } from './parts.tsx';
import type { Store } from './store.ts';
import { useStore } from './use-store.ts';

export type HeatMapProps = {
  /** For screen readers: which nodes these are. */
  label: string;
  /** In the order in which they are shown; another array where that changes. */
  names: readonly string[];
  /** How many cells there are on the page. */
  onPage: number;
  stateOf: (name: string) => State;
  /** Cells of other states step back. */
  only: State | undefined;
};

/** State of the drawing; not state of the component, since it changes without a new render. */
type Drawing = { painter: CellPainter; layout: CellLayout; index: ReadonlyMap<string, number> };

/**
 * One cell a node, drawn on a canvas: thousands of elements would make every frame slow. To the keyboard and to screen
 * readers it is a list, of which the chosen node alone is an element.
 */
export function HeatMap(props: HeatMapProps) {
  const { label, names } = props;
  const store = useStore();
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const drawing = useRef<Drawing | undefined>(undefined);
  const hovered = useSignal<number | undefined>(undefined);
  const chosen = useSignal(0);
  const isFocused = useSignal(false);
  const width = useWidth(box);
  const id = useId();
  useDrawing({ ...props, store, canvas, drawing, width, focused: isFocused, chosen });

  const layout = layOut(names.length, width.value, props.onPage);
  const at = Math.min(chosen.value, names.length - 1);
  const shown = hovered.value ?? (isFocused.value ? at : undefined);
  const open = (index: number) => {
    const name = names[index];
    if (name !== undefined) location.hash = hashOf({ view: 'node', name });
  };
  const pointed = ({ offsetX, offsetY }: MouseEvent) => cellAt(offsetX, offsetY, names.length, layout);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === 'Enter') return open(at);
    const to = event.key.toLowerCase() === 'n' ? nextTrouble(props, at) : moveBy(event.key, at, names.length, layout);
    if (to === undefined) return;
    event.preventDefault();
    chosen.value = to;
    scrollToCell(box.current, to, layout);
  };
  return (
    <div
      class="map"
      ref={box}
      role="listbox"
      tabIndex={0}
      aria-label={`${visible(label)}. Arrow keys move, N leads to the next node that is not ready, Enter opens the node.`}
      aria-activedescendant={`${id}-option`}
      onKeyDown={onKeyDown}
      onFocus={() => {
        isFocused.value = true;
      }}
      onBlur={() => {
        isFocused.value = false;
      }}
    >
      <canvas
        ref={canvas}
        onMouseMove={(event) => {
          hovered.value = pointed(event);
        }}
        onMouseLeave={() => {
          hovered.value = undefined;
        }}
        onClick={(event) => {
          const index = pointed(event);
          if (index !== undefined) open(index);
        }}
      />
      <Option id={`${id}-option`} name={names[at]} position={at + 1} count={names.length} />
      {shown !== undefined && <Tip name={names[shown]} index={shown} layout={layout} width={width.value} />}
    </div>
  );
}

/** The chosen node, as a screen reader has it. */
function Option(props: { id: string; name: string | undefined; position: number; count: number }) {
  const { id, name, position, count } = props;
  return (
    <div
      id={id}
      class="unseen"
      role="option"
      aria-selected={false}
      aria-setsize={count}
      aria-posinset={position}
      tabIndex={-1}
    >
      {name === undefined ? 'No node' : <NodeText name={name} />}
    </div>
  );
}

function NodeText({ name }: { name: string }) {
  const { fleet, version } = useStore();
  version.value;
  const node = fleet.node(name);
  return (
    <>
      <strong>
        <Foreign text={name} />
      </strong>{' '}
      {node ? visible(nodeSentence(node)) : 'gone'}
    </>
  );
}

function Tip(props: { name: string | undefined; index: number; layout: CellLayout; width: number }) {
  const { name, index, layout, width } = props;
  if (name === undefined) return null;
  const { x, y } = positionOf(index, layout);
  const isRight = x > width / 2;
  const side = isRight ? { right: `${Math.max(0, width - x - layout.width)}px` } : { left: `${x}px` };
  return (
    <div class="tip" aria-hidden="true" style={{ top: `${y + layout.height + 6}px`, ...side }}>
      <NodeText name={name} />
    </div>
  );
}

/** Draws all cells if their order, size or look changed, else only the cells of changed nodes. */
function useDrawing(
  options: HeatMapProps & {
    store: Store;
    canvas: { current: HTMLCanvasElement | null };
    drawing: { current: Drawing | undefined };
    width: Signal<number>;
    focused: Signal<boolean>;
    chosen: Signal<number>;
  },
): void {
  const { names, onPage, only, stateOf, store, canvas, drawing, width, focused, chosen } = options;
  const latest = useRef(options);
  latest.current = options;
  const painted = useRef<number | undefined>(undefined);
  const paint = (index: number) => {
    const now = drawing.current;
    const name = latest.current.names[index];
    if (!now || name === undefined) return;
    const isChosen = focused.peek() && index === chosen.peek();
    now.painter.paint(index, cellOf(name, latest.current), now.layout, isChosen);
  };
  // `paint` reads the latest options.
  useLayoutEffect(() => {
    if (!canvas.current || width.value === 0) return;
    const painter = drawing.current?.painter ?? new CellPainter(canvas.current);
    const layout = layOut(names.length, width.value, onPage);
    canvas.current.style.height = `${layout.mapHeight}px`;
    painter.reset(width.value, layout.mapHeight);
    drawing.current = { painter, layout, index: new Map(names.map((name, index) => [name, index])) };
    for (let index = 0; index < names.length; index += 1) paint(index);
  }, [names, onPage, only, stateOf, width.value, appearance.value]);
  useSignalEffect(() => {
    store.version.value;
    for (const name of store.changed) {
      const index = drawing.current?.index.get(name);
      if (index !== undefined) paint(index);
    }
  });
  useSignalEffect(() => {
    const index = focused.value ? chosen.value : undefined;
    const before = painted.current;
    painted.current = index;
    if (before !== undefined) paint(before);
    if (index !== undefined) paint(index);
  });
}

function cellOf(name: string, { stateOf, only, store }: HeatMapProps & { store: Store }): Cell {
  const node = store.fleet.node(name);
  const state = stateOf(name);
  return { name, state, isDisputed: node ? isDisputed(node) : false, isDimmed: only !== undefined && state !== only };
}

/** The next node that is not ready, from the beginning again after the last; where there is none, it stays. */
function nextTrouble({ names, stateOf }: HeatMapProps, from: number): number {
  for (let step = 1; step <= names.length; step += 1) {
    const index = (from + step) % names.length;
    const name = names[index];
    if (name !== undefined && !['ready', 'none'].includes(stateOf(name))) return index;
  }
  return from;
}

function scrollToCell(box: HTMLDivElement | null, index: number, layout: CellLayout): void {
  if (!box) return;
  const top = box.getBoundingClientRect().top + positionOf(index, layout).y;
  const margin = 80;
  if (top < margin) scrollBy(0, top - margin);
  else if (top + layout.height > innerHeight - margin) scrollBy(0, top + layout.height - innerHeight + margin);
}

function useWidth(box: { current: HTMLDivElement | null }): Signal<number> {
  const width = useSignal(0);
  useLayoutEffect(() => {
    width.value = box.current?.clientWidth ?? 0;
  }, [box, width]);
  useEffect(() => {
    if (!box.current) return;
    const observer = new ResizeObserver(() => {
      width.value = box.current?.clientWidth ?? 0;
    });
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [box, width]);
  return width;
}
