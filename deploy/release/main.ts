import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { describeError } from '../../packages/common/src/coded-error.ts';
import { VERSION } from '../../packages/common/src/version.ts';
import { imageCacheDir } from '../image/cached-input.ts';
import { commit } from '../image/commit.ts';
import { makeRelease } from './artifacts.ts';
import { buildPlugin } from './plugin.ts';

const TRIAL = path.resolve(import.meta.dirname, '../../test/release/main.ts');

const USAGE = `node deploy/release/main.ts [options]

Makes the files of a release of version ${VERSION}, which publish.sh publishes.

  --registry HOST/PATH    for image and charts (or the variable REGISTRY), such as registry.example.com/rollcall
  --tag TAG               what was tagged; refused unless it is v${VERSION}
  --source URL            the repository, for labels and the manifest of krew
  --plugin DIR            executables of kubectl rollcall that were built and signed before (built now)
  --out DIR               where everything is written (deploy/release/dist)
  --dry-run               all of it and the publication, with a registry and a key of its own, and an installation on real nodes
`;

const OPTIONS = {
  registry: { type: 'string' },
  tag: { type: 'string' },
  source: { type: 'string' },
  plugin: { type: 'string' },
  out: { type: 'string', default: path.join(import.meta.dirname, 'dist') },
  'dry-run': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

try {
  const { values } = parseArgs({ options: OPTIONS });
  if (values.help) process.stdout.write(USAGE);
  else if (values['dry-run']) process.exitCode = tryOut();
  else await release(values);
} catch (error) {
  process.stderr.write(`${describeError(error)}\n`);
  process.exitCode = 1;
}

async function release(settings: ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values']): Promise<void> {
  const { source, tag } = settings;
  const registry = settings.registry ?? process.env['REGISTRY'];
  const { created, revision } = await commit();
  if (!registry) throw new Error('--registry: for which registry?');
  if (tag !== `v${VERSION}`) throw new Error(`--tag: is ${tag ?? 'not given'}, and the version is ${VERSION}`);
  if (!revision || revision.endsWith('-dirty')) throw new Error('the source is not exactly the source of a commit');

  const cacheDir = imageCacheDir(process.env);
  const made = await makeRelease({
    registry: registry.toLowerCase(),
    dir: settings.out,
    cacheDir,
    created,
    revision,
    source,
    section: VERSION,
    pluginDir: settings.plugin ?? buildPlugin(),
  });
  for (const { name, digest } of [made.image, made.chart, made.crdChart]) process.stdout.write(`${name}@${digest}\n`);
}

/** The trial needs what only the tests have: a registry, Helm, nodes. */
function tryOut(): number {
  return spawnSync(process.execPath, [TRIAL], { stdio: 'inherit' }).status ?? 1;
}
