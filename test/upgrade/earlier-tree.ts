import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { run } from '../control-plane/run.ts';
import { ROOT } from '../tidy/sources.ts';

/** Puts the tree of a revision into `dir`, with its dependencies and its bundles. Returns its version. @throws with what a step said. */
export async function earlierTree(revision: string, dir: string): Promise<string> {
  const archive = path.join(dir, 'archive.tar');
  await mkdir(dir, { recursive: true });
  const { packageManager } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8'));
  await step('git', ['archive', '--output', archive, revision], ROOT);
  await step('tar', ['-xf', archive, '-C', dir], dir);
  await step('npx', ['--yes', packageManager, 'install', '--frozen-lockfile', '--prefer-offline'], dir);
  await step(process.execPath, ['build.ts'], dir);
  const chart = await readFile(path.join(dir, 'deploy/chart/Chart.yaml'), 'utf8');
  return /^version: (.*)$/m.exec(chart)?.[1] ?? 'unknown';
}

/** The version of the protocol of reports; `undefined` in a tree from before there was one. */
export async function protocolOf(dir: string): Promise<number | undefined> {
  const report = await readFile(path.join(dir, 'packages/common/src/report.ts'), 'utf8');
  const version = /^export const PROTOCOL_VERSION = (\d+);$/m.exec(report)?.[1];
  return version === undefined ? undefined : Number(version);
}

/** The newest tag before what is checked out. @throws where there is none. */
export async function lastTag(): Promise<string> {
  return (await step('git', ['describe', '--tags', '--abbrev=0', 'HEAD^'], ROOT)).trim();
}

async function step(command: string, args: readonly string[], cwd: string): Promise<string> {
  // biome-ignore lint/style/noProcessEnv: git, npx and Node.js need all of it
  const { code, out, err } = await run(command, args, process.env, { cwd });
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${err || out}`);
  return out;
}
