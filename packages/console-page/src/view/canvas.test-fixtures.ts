import { onTestFinished, vi } from 'vitest';

/** A canvas that writes down what is done to it: `fillRect 0 0 1 1`, `fillStyle = red`. */
export type CanvasStandIn = {
  canvas: HTMLCanvasElement;
  /** What was done since this was asked for last. */
  done: () => string[];
};

/** Stands in for a canvas until the test ends. A character is ten wide, and the colors are named as their variables. */
export function standInForCanvas(): CanvasStandIn {
  let log: string[] = [];
  const context = new Proxy(
    {},
    {
      get: (_target, name) =>
        name === 'measureText'
          ? (text: string) => ({ width: 10 * [...text].length })
          : (...values: unknown[]) => void log.push([String(name), ...values.map(String)].join(' ')),
      set: (_target, name, value) => {
        log.push(`${String(name)} = ${value}`);
        return true;
      },
    },
  );
  const canvas = { width: 0, height: 0, getContext: () => context } as unknown as HTMLCanvasElement;
  vi.stubGlobal(
    'Path2D',
    class {
      readonly #path: string;
      constructor(path: string) {
        this.#path = path;
      }
      toString(): string {
        return this.#path;
      }
    },
  );
  vi.stubGlobal('devicePixelRatio', 2);
  vi.stubGlobal('getComputedStyle', () => ({ font: 'some font', getPropertyValue: (name: string) => name }));
  onTestFinished(() => void vi.unstubAllGlobals());
  return {
    canvas,
    done: () => {
      const found = log;
      log = [];
      return found;
    },
  };
}
