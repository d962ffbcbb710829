import { MissingInput, UnreachableInput } from './cached-input.ts';

/**
 * Why tests of the image are skipped on this machine.
 * @param ci the variable CI
 * @throws the error where it is of another kind; in CI also where the machine lacks something that servers have.
 */
export function reasonToSkip(error: unknown, ci: string | undefined): string {
  if (!(error instanceof MissingInput) || (ci && !(error instanceof UnreachableInput))) throw error;
  return `cannot build the image on this machine: ${error.message}`;
}
