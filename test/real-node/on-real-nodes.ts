import { describe, inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Why real nodes cannot run here; empty when they can. Found out by `global-setup.ts`. */
    obstacleToRealNodes: string;
  }
}

/** A `describe` whose tests are skipped, with the reason in its name, on a machine that cannot run real nodes. */
export function describeOnRealNodes(name: string, tests: () => void): void {
  const obstacle = inject('obstacleToRealNodes');
  if (obstacle === '') describe(name, tests);
  else describe.skip(`${name} (not on this machine: ${obstacle})`, tests);
}
