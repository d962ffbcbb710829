import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { build, type Plugin } from 'esbuild';

const PROGRAMS = [
  { source: 'agent/src/main.ts', bundle: 'agent/dist/main.js' },
  // Run by the agent now and then, as a process of its own: what it needs does not weigh on main.js.
  { source: 'agent/src/facts/child.ts', bundle: 'agent/dist/facts.js' },
  { source: 'coordinator/src/main.ts', bundle: 'coordinator/dist/main.js' },
];

/**
 * Parts of prom-client that nothing here uses. Its index loads them all the same, and with them `node:zlib`, `node:v8`
 * and @opentelemetry/api: 1 MB of memory in each program.
 */
const UNUSED = /\/prom-client\/lib\/(pushgateway|cluster|defaultMetrics|summary)\.js$/;

const withoutUnused: Plugin = {
  name: 'without-unused',
  setup: ({ onLoad }) => onLoad({ filter: UNUSED }, () => ({ contents: 'module.exports = {};' })),
};

export type Bundles = {
  /** By their path from the root of the repository. */
  files: { path: string; contents: Uint8Array }[];
  /** Files that are in a bundle, by the same. */
  inputs: Set<string>;
};

/** Bundles each program into one file: quicker to start, less memory, and nothing but `node` needed to run it. */
export async function bundlePrograms(): Promise<Bundles> {
  const bundles: Bundles = { files: [], inputs: new Set() };
  for (const { source, bundle } of PROGRAMS) {
    const { outputFiles, metafile } = await build({
      entryPoints: [source],
      outfile: bundle,
      absWorkingDir: import.meta.dirname,
      bundle: true,
      write: false,
      metafile: true,
      platform: 'node',
      format: 'esm',
      target: 'node22.19',
      sourcemap: 'linked',
      keepNames: true,
      legalComments: 'linked',
      // Native; the agent does without it where it is not installed.
      external: ['usb'],
      plugins: [withoutUnused],
      logLevel: 'warning',
      // CommonJS dependencies call require(), which an ES module does not have.
      banner: {
        js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
      },
    });
    for (const { path: file, contents } of outputFiles)
      bundles.files.push({ path: path.relative(import.meta.dirname, file), contents });
    for (const input of Object.keys(metafile.inputs)) bundles.inputs.add(input);
  }
  return bundles;
}

/** Writes the bundles to where the programs are run from. */
export async function buildBundles(): Promise<void> {
  const { files } = await bundlePrograms();
  for (const { path: file, contents } of files) {
    const target = path.join(import.meta.dirname, file);
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, contents);
  }
}

if (import.meta.main) await buildBundles();
