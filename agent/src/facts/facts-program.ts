import { fileURLToPath } from 'node:url';

export type Program = { command: string; args: readonly string[] };

/** The heap of the child, in MB; it needs about 8. It counts toward the memory limit of the agent's container. */
const HEAP_FLAGS = ['--max-semi-space-size=1', '--max-old-space-size=32'];

/**
 * The child, seen from the module at `from`: the source beside it when this runs from source, else `facts.js`, which
 * the build puts beside the bundle.
 */
export function factsProgram(from: string): Program {
  const name = from.endsWith('.ts') ? './child.ts' : './facts.js';
  return { command: process.execPath, args: [...HEAP_FLAGS, fileURLToPath(new URL(name, from))] };
}
