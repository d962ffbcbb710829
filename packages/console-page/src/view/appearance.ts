import { signal } from '@preact/signals';

/** Grows whenever the colors or the resolution of the screen change: what is drawn is drawn anew then. */
export const appearance = signal(0);

const CHANGES = ['(prefers-color-scheme: dark)', '(prefers-contrast: more)', '(forced-colors: active)'];

/** Watches for such changes until the signal. */
export function watchAppearance(ending: AbortSignal): void {
  const onChange = () => {
    appearance.value += 1;
  };
  for (const query of CHANGES) matchMedia(query).addEventListener('change', onChange, { signal: ending });
  addEventListener('resize', onChange, { signal: ending });
}
