import { hasCode } from '../coded-error.ts';
import { writeFully } from '../write-fully.ts';
import type { Loaded } from './load.ts';

/**
 * The values to run with. Otherwise ends the process: with 0 after printing what was asked for, with 2 and one line on
 * standard error when the configuration is wrong. To be called before anything is opened.
 */
export async function valuesOrExit<C>(programName: string, load: () => Promise<Loaded<C>>): Promise<C> {
  try {
    const loaded = await load();
    if (loaded.action === 'run') return loaded.values;
    writeFully(1, loaded.text);
    process.exit(0);
  } catch (error) {
    if (!hasCode(error, 'CONFIG_INVALID')) throw error;
    writeFully(2, `${programName}: ${error.message.replaceAll(/\s+/g, ' ')}\n`);
    process.exit(2);
  }
}
