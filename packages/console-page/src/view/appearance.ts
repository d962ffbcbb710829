import { signal } from '@preact/signals';

/** Grows whenever the colors or the resolution of the screen change: what is drawn is drawn anew then. */
export const appearance = signal(0);

const CHANGES = ['(prefers-color-scheme: dark)', '(prefers-contrast: more)', '(forced-colors: active)'];

/** Whether the window is too narrow for the columns of a table: the cells of a row are below each other then. */
export const isNarrow = signal(false);

/** The same as in style.css. */
const NARROW = '(max-width: 640px)';

/** Watches for such changes until the signal. */
export function watchAppearance(ending: AbortSignal): void {
  const narrow = matchMedia(NARROW);
  const onWidth = () => {
    isNarrow.value = narrow.matches;
  };
  onWidth();
  narrow.addEventListener('change', onWidth, { signal: ending });
  const onChange = () => {
    appearance.value += 1;
  };
  for (const query of CHANGES) matchMedia(query).addEventListener('change', onChange, { signal: ending });
  addEventListener('resize', onChange, { signal: ending });
}
