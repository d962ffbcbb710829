import { MissingInput, outputOf } from './cached-input.ts';

/** Commit of the source, with the suffix `-dirty` if anything was changed, and its time in RFC 3339. */
export type Commit = { created: string; revision: string | undefined };

/** Without git or a repository, it is of none, at the begin of time. */
export async function commit(dir = import.meta.dirname): Promise<Commit> {
  const git = async (...args: string[]) => `${await outputOf('git', args, dir)}`.trim();
  try {
    const [revision, seconds, changes] = await Promise.all([
      git('rev-parse', 'HEAD'),
      git('log', '-1', '--format=%ct'),
      git('status', '--porcelain'),
    ]);
    return { created: isoSeconds(Number(seconds)), revision: changes === '' ? revision : `${revision}-dirty` };
  } catch (error) {
    if (error instanceof MissingInput) return { created: isoSeconds(0), revision: undefined };
    throw error;
  }
}

function isoSeconds(epochSeconds: number): string {
  return new Date(epochSeconds * 1000).toISOString().replace(/\.\d+/, '');
}
