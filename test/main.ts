import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { constants, setPriority, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildBundles } from '../build.ts';
import { ALONE } from './alone.ts';
import { SHORT, SHORT_HISTORIES } from './short.ts';
import { failedFiles, merged, type Outcome, summaryOf } from './summary.ts';

/**
 * `npm test` runs the unit tests, and then the files of `short.ts`. With `--all`, which is `npm run test:all`, every test
 * runs: the unit tests, and then side by side those from end to end and those in a browser and on real nodes; at last,
 * with what the others leave of the cores, those that only compute. With other arguments, one vitest runs with them.
 * Ends with 1 where a test failed.
 *
 * Where the environment names a file as `ROLLCALL_FAILED_FILES`, the files with failures are written there, one a line.
 */
const VITEST = fileURLToPath(new URL('../vitest.mjs', import.meta.resolve('vitest')));
// biome-ignore lint/style/noProcessEnv: the tests are to have all of it
const environment = process.env;
/** A hundred API servers, kubectl and Helm start and end soon: they spend a fifth less CPU with fewer collections of garbage. */
const SPARING = { GOGC: '400' };
const running = new Set<ChildProcess>();

async function main(args: readonly string[]): Promise<number> {
  // A terminal sends SIGINT to all of them.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => {
    for (const child of running) child.kill();
  });
  const isWhole = args[0] === '--all';
  if (args.length > 0 && !isWhole) return exitOf(vitest(args, {}, 'inherit'));
  const directory = await mkdtemp(path.join(tmpdir(), 'rollcall-outcome-'));
  try {
    const unit = await runProjects(directory, ['unit']);
    await buildBundles();
    const rest = await (isWhole ? runWhole(directory) : runShort(directory));
    const outcome = merged([unit, ...rest]);
    const list = environment['ROLLCALL_FAILED_FILES'];
    if (list !== undefined) await writeFile(list, failedFiles(outcome));
    process.stdout.write(`\n${summaryOf(outcome)}`);
    return outcome.failed > 0 ? 1 : 0;
  } finally {
    await rm(directory, { recursive: true });
  }
}

function runWhole(directory: string): Promise<Outcome[]> {
  return Promise.all([
    runProjects(directory, ['e2e']).then(async (sideBySide) => {
      // Tests that run two at a time leave half of the cores to the tests that only compute.
      const rest = await Promise.all([
        runProjects(directory, ['e2e-alone']),
        runProjects(directory, ['long'], { isQuiet: true, priority: constants.priority.PRIORITY_LOW }),
      ]);
      return merged([sideBySide, ...rest]);
    }),
    runProjects(directory, ['browser', 'real-node'], { isQuiet: true }),
  ]);
}

/** Tests that measure time run at last, two at a time, as in the whole suite. */
async function runShort(directory: string): Promise<Outcome[]> {
  const isAlone = (file: string) => file in ALONE;
  const files = Object.keys(SHORT);
  const sideBySide = await Promise.all([
    runProjects(directory, ['e2e'], { files: files.filter((file) => !isAlone(file)) }),
    runProjects(directory, ['browser', 'real-node'], { files, isQuiet: true }),
  ]);
  const rest = await Promise.all([
    runProjects(directory, ['e2e-alone'], { files: files.filter(isAlone) }),
    runProjects(directory, ['long'], {
      files,
      isQuiet: true,
      priority: constants.priority.PRIORITY_LOW,
      env: { ROLLCALL_HISTORIES: `${SHORT_HISTORIES}` },
    }),
  ]);
  return [...sideBySide, ...rest];
}

type RunOptions = {
  /** Only these files of the projects. */
  files?: readonly string[];
  /** Prints the output at the end. */
  isQuiet?: boolean;
  priority?: number;
  env?: Record<string, string>;
};

/** One failure without a test where vitest itself failed. */
async function runProjects(
  directory: string,
  projects: string[],
  { files = [], isQuiet = false, priority = constants.priority.PRIORITY_NORMAL, env = {} }: RunOptions = {},
): Promise<Outcome> {
  const file = path.join(directory, `${projects[0]}.json`);
  const child = vitest(
    [...projects.flatMap((project) => ['--project', project]), ...files],
    {
      ROLLCALL_OUTCOME: file,
      ROLLCALL_BUNDLES_ARE_BUILT: 'true',
      NODE_COMPILE_CACHE: path.join(directory, 'compiled'),
      ...env,
    },
    isQuiet ? 'pipe' : 'inherit',
  );
  if (child.pid !== undefined) setPriority(child.pid, priority);
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => chunks.push(chunk));
  const code = await exitOf(child);
  process.stdout.write(Buffer.concat(chunks));
  const text = await readFile(file, 'utf8').catch(() => undefined);
  const none = { passed: 0, failed: 0, skipped: 0, failures: [], projects: [], files: [], tests: [] };
  const outcome: Outcome = text === undefined ? none : JSON.parse(text);
  return code !== 0 && outcome.failed === 0 ? { ...outcome, failed: 1 } : outcome;
}

function vitest(args: readonly string[], env: Record<string, string>, stdio: 'inherit' | 'pipe'): ChildProcess {
  const child = spawn(process.execPath, [VITEST, 'run', ...args], {
    env: { ...environment, ...SPARING, ...env },
    stdio: ['ignore', stdio, stdio],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}

process.exitCode = await main(process.argv.slice(2));
