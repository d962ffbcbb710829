import path from 'node:path';
import { parseArgs } from 'node:util';
import { describeError } from '../../packages/common/src/coded-error.ts';
import { imageCacheDir } from './cached-input.ts';
import { commit } from './commit.ts';
import { debianMirrors } from './debian-packages.ts';
import { buildApps, buildImages, DEBIAN_LOCK_FILE } from './image.ts';
import { DEFAULT_REFERENCE, summaryOf, writeApps, writeImages } from './output.ts';
import { PLATFORMS, parsePlatform } from './platforms.ts';
import { writeNewestLock } from './relock.ts';

const USAGE = `node deploy/image/main.ts [options]

Builds the image of both programs, without a daemon.

  --platform linux/amd64  only this one; may be repeated (all: ${PLATFORMS.map(({ architecture }) => `linux/${architecture}`).join(', ')})
  --reference NAME:TAG    what the archives call the image (${DEFAULT_REFERENCE})
  --out DIR               where everything is written (deploy/image/dist)
  --revision TEXT         for the labels (the commit, with -dirty behind it if anything was changed)
  --source URL            for the labels (none)
  --debian-mirror URL     root of a Debian repository; may be repeated (default: the mirrors of this machine's apt)
  --app-only              only the directory /app, for the Dockerfile
  --relock RELEASE        no image: pin the newest packages of this release of Debian in debian-lock.json
`;

const OPTIONS = {
  platform: { type: 'string', multiple: true },
  reference: { type: 'string', default: DEFAULT_REFERENCE },
  out: { type: 'string', default: path.join(import.meta.dirname, 'dist') },
  revision: { type: 'string' },
  source: { type: 'string' },
  'debian-mirror': { type: 'string', multiple: true },
  'app-only': { type: 'boolean' },
  relock: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

type Settings = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];

try {
  await run(parseArgs({ options: OPTIONS }).values);
} catch (error) {
  process.stderr.write(`${describeError(error)}\n`);
  process.exitCode = 1;
}

async function run(settings: Settings): Promise<void> {
  if (settings.help) say(USAGE);
  else if (settings.relock !== undefined) await relock(settings.relock, settings['debian-mirror']);
  else if (settings['app-only']) await writeApp(settings);
  else await writeImage(settings);
}

function chosen({ platform }: Settings) {
  return { platforms: platform?.map(parsePlatform) ?? PLATFORMS, cacheDir: imageCacheDir(process.env) };
}

async function relock(release: string, mirrors: readonly string[] | undefined): Promise<void> {
  const { packages } = await writeNewestLock(DEBIAN_LOCK_FILE, release, mirrors ?? (await debianMirrors()));
  for (const { name, version, architecture } of packages) say(`${name} ${version} ${architecture}\n`);
}

async function writeApp(settings: Settings): Promise<void> {
  for (const dir of await writeApps(await buildApps(chosen(settings)), settings.out)) say(`${dir}\n`);
}

async function writeImage(settings: Settings): Promise<void> {
  const { created, revision } = await commit();
  const built = await buildImages({
    ...chosen(settings),
    mirrors: settings['debian-mirror'],
    source: settings.source,
    revision: settings.revision ?? revision,
    created,
  });
  const written = await writeImages(built, settings.reference, settings.out);
  say(summaryOf(built, written, settings.reference));
  say(`  ${path.join(settings.out, 'oci')}\n`);
}

function say(text: string): void {
  process.stdout.write(text);
}
