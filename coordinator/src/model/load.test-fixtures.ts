import { hasCode } from '@rollcall/common/coded-error.ts';
import { type CoordinatorConfig, type CoordinatorEnvironment, loadConfig } from './config.ts';

const ENVIRONMENT: CoordinatorEnvironment = { ownNamespace: 'rollcall', podName: undefined, podIp: undefined };

/** The configuration that these flags make. */
export async function configured(...argv: string[]): Promise<CoordinatorConfig> {
  const loaded = await loadConfig({ argv, env: {}, readFile: () => '' }, ENVIRONMENT);
  if (loaded.action === 'print') throw new Error('It only prints');
  return loaded.values;
}

/** What is wrong with these flags; `undefined` where they can be used. */
export async function problemWith(...argv: string[]): Promise<string | undefined> {
  try {
    await configured(...argv);
    return undefined;
  } catch (err) {
    if (!hasCode(err, 'CONFIG_INVALID')) throw err;
    return err.message;
  }
}
