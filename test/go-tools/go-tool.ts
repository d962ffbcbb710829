import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { buildOnce } from '../control-plane/build-once.ts';
import type { Environment } from '../control-plane/environment.ts';

export type GoTool = {
  /** Name of the executable. */
  name: string;
  /** Path of its package. */
  package: string;
  /** Folder of the module that requires it. */
  dir: string;
  /** Besides those that strip it. */
  linkerFlags?: readonly string[];
};

/**
 * The executable from the cache; else builds it there, while other processes that want it wait.
 * @throws with what Go said.
 */
export async function ensureGoTool(tool: GoTool, environment: Environment): Promise<string> {
  const file = join(await goToolDir(tool, environment), tool.name);
  const isThere = () =>
    access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
  const linkerFlags = ['-s -w', ...(tool.linkerFlags ?? [])].join(' ');
  await buildOnce({ name: tool.name, file, isThere }, { ...tool, linkerFlags }, environment);
  return file;
}

/** Where the tool is kept. */
export async function goToolDir({ name, dir }: GoTool, { cacheRoot, os, arch }: Environment): Promise<string> {
  const requirements = await Promise.all(['go.mod', 'go.sum'].map((file) => readFile(join(dir, file), 'utf8')));
  const hash = createHash('sha256').update(requirements.join('\0')).digest('hex').slice(0, 12);
  return join(dirname(cacheRoot), name, `${os}-${arch}-${hash}`);
}
