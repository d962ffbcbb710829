import type { Writable } from 'node:stream';

/** Resolves when a reader takes more, or is gone. */
export function drained(to: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      to.off('drain', done);
      to.off('close', done);
      resolve();
    };
    to.on('drain', done);
    to.on('close', done);
  });
}
