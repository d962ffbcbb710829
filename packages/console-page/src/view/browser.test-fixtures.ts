import { onTestFinished, vi } from 'vitest';

/** What the page has of a browser, as far as it can be had without one. */
export type BrowserStandIn = {
  location: { hash: string };
  document: { hidden: boolean };
  /** Calls what is listened for. */
  happen: (event: string) => void;
  /** Draws a frame; returns how many callbacks waited for it. */
  frame: () => number;
  scrolled: [number, number][];
};

/** Stands in for the browser until the test ends. */
export function standInForBrowser(): BrowserStandIn {
  const target = new EventTarget();
  const [location, document] = [{ hash: '' }, { hidden: false }];
  const scrolled: [number, number][] = [];
  let waiting: (() => void)[] = [];
  vi.stubGlobal('location', location);
  vi.stubGlobal('document', document);
  vi.stubGlobal('addEventListener', target.addEventListener.bind(target));
  vi.stubGlobal('scrollTo', (x: number, y: number) => scrolled.push([x, y]));
  vi.stubGlobal('requestAnimationFrame', (callback: () => void) => waiting.push(callback));
  onTestFinished(() => void vi.unstubAllGlobals());
  return {
    location,
    document,
    scrolled,
    happen: (event) => void target.dispatchEvent(new Event(event)),
    frame: () => {
      const callbacks = waiting;
      waiting = [];
      for (const callback of callbacks) callback();
      return callbacks.length;
    },
  };
}
