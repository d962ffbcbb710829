import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const BUNDLE = path.resolve(import.meta.dirname, '../dist/main.js');

/**
 * Puts the bundle into a copy of a Node.js executable, of any platform. The Node.js that runs this has to be 26 or newer,
 * and the one that is copied of the same version.
 */
export async function buildExecutable(output: string, node: string = process.execPath): Promise<void> {
  const dir = await mkdtemp(path.join(tmpdir(), 'kubectl-rollcall-'));
  try {
    const config = path.join(dir, 'sea.json');
    const settings = {
      main: BUNDLE,
      mainFormat: 'module',
      executable: node,
      output,
      disableExperimentalSEAWarning: true,
    };
    await writeFile(config, JSON.stringify(settings));
    await run(process.execPath, [`--build-sea=${config}`]);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
