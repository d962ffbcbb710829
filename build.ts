import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { build, type Plugin } from 'esbuild';

const PROGRAMS = [
  { source: 'agent/src/main.ts', bundle: 'agent/dist/main.js' },
  // Run by the agent now and then, as a process of its own: what it needs does not weigh on main.js.
  { source: 'agent/src/facts/child.ts', bundle: 'agent/dist/facts.js' },
  // Loaded by the agent when it has a configuration file.
  { source: 'packages/common/src/config/yaml.ts', bundle: 'agent/dist/yaml.js' },
  // V8 keeps the source of a file that is loaded. What only some coordinators need stays in files of its own: the library
  // that reads kubeconfigs alone is half of the source.
  { source: 'coordinator/src/main.ts', bundle: 'coordinator/dist/main.js', split: true },
  { source: 'packages/kubectl-rollcall/src/main.ts', bundle: 'packages/kubectl-rollcall/dist/main.js' },
];

const PAGE_SOURCE = 'packages/console-page/src';
/** The path at which a coordinator that runs from source reads the page. */
const PAGE_FILE = 'coordinator/dist/console.html';

/**
 * Parts of prom-client and pino that nothing here uses: logs are written by the program itself (`log-output.ts`). They
 * are loaded all the same, and with them `node:zlib`, `node:v8`, `node:assert`, `node:worker_threads` and
 * @opentelemetry/api: 2 MB of memory in each program.
 */
const UNUSED =
  /\/prom-client\/lib\/(pushgateway|cluster|defaultMetrics|summary)\.js$|\/pino\/lib\/(transport|multistream)\.js$|\/sonic-boom\/index\.js$/;

const withoutUnused: Plugin = {
  name: 'without-unused',
  setup({ onResolve, onLoad }) {
    const contents = 'module.exports = class {};';
    onLoad({ filter: UNUSED }, () => ({ contents }));
    onResolve({ filter: /^worker_threads$/ }, ({ importer }) =>
      importer.includes('/pino/') ? { path: 'worker_threads', namespace: 'unused' } : undefined,
    );
    onLoad({ filter: /^/, namespace: 'unused' }, () => ({ contents }));
  },
};

/**
 * Takes from each built-in module what is used, and nothing else. The namespace of an import holds everything in the
 * module, and so loads what Node.js would load when it is asked for, such as the web's streams and cryptography.
 */
const usedBuiltins: Plugin = {
  name: 'used-builtins',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[a-z]/ }, ({ path: name, kind }) =>
      kind === 'import-statement' && isBuiltin(name)
        ? { path: name, namespace: 'builtin', sideEffects: false }
        : undefined,
    );
    onLoad({ filter: /^/, namespace: 'builtin' }, ({ path: name }) => {
      const names = Object.keys(process.getBuiltinModule(name) ?? {}).filter((key) => /^[a-z]\w*$/i.test(key));
      const exported = names.map((key) => `export const ${key} = /* @__PURE__ */ (() => builtin.${key})();`);
      const builtin = `const builtin = /* @__PURE__ */ process.getBuiltinModule(${JSON.stringify(name)});`;
      return { contents: [builtin, 'export default builtin;', ...exported].join('\n') };
    });
  },
};

/** Leaves the parser of configuration files beside the agent. The coordinator needs it in any case. */
const yamlBeside: Plugin = {
  name: 'yaml-beside',
  setup({ onResolve, initialOptions }) {
    if (initialOptions.outfile !== 'agent/dist/main.js') return;
    onResolve({ filter: /\/yaml\.ts$/ }, () => ({ path: './yaml.js', external: true }));
  },
};

/** Puts the page of the console into the coordinator, in place of the function that reads it. */
function withPage(html: string): Plugin {
  return {
    name: 'with-page',
    setup({ onLoad }) {
      const contents = `export function pageHtml() { return ${JSON.stringify(html)}; }`;
      onLoad({ filter: /\/answer\/console\/page-html\.ts$/ }, () => ({ contents }));
    },
  };
}

/** The page of the console: one HTML file with its style and its script in it. */
async function bundlePage(): Promise<{ html: string; inputs: string[] }> {
  const { outputFiles, metafile } = await build({
    entryPoints: [`${PAGE_SOURCE}/main.tsx`, `${PAGE_SOURCE}/style.css`],
    outdir: PAGE_SOURCE,
    absWorkingDir: import.meta.dirname,
    bundle: true,
    write: false,
    metafile: true,
    minify: true,
    format: 'esm',
    target: ['chrome120', 'firefox121', 'safari17'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'warning',
  });
  const textOf = (suffix: string) => outputFiles.find(({ path: file }) => file.endsWith(suffix))?.text ?? '';
  const template = await readFile(path.join(import.meta.dirname, PAGE_SOURCE, 'index.html'), 'utf8');
  const html = template
    .replace('</style>', () => `${textOf('.css')}</style>`)
    .replace('</script>', () => `${textOf('.js')}</script>`);
  return { html, inputs: Object.keys(metafile.inputs) };
}

/** Those that the image has. */
export const IMAGE_PROGRAMS = PROGRAMS.filter(({ bundle }) => !bundle.startsWith('packages/'));

export type Bundles = {
  /** Keyed by their path from the root of the repository. */
  files: { path: string; contents: Uint8Array }[];
  /** The page of the console, which is in the coordinator as well. */
  page: string;
  /** Files that are in a bundle, by the same. */
  inputs: Set<string>;
};

/**
 * In code, esbuild writes every character beyond ASCII as an escape; those that are left are in comments. With one of them
 * V8 keeps two bytes for each character of the source: 6 MB more for the coordinator.
 */
function plain(file: string, contents: Uint8Array): Uint8Array {
  if (!file.endsWith('.js')) return contents;
  const text = Buffer.from(contents).toString('utf8');
  return Buffer.from(text.replace(/[^\p{ASCII}]/gu, '?'));
}

/** Bundles each program: quicker to start, less memory, and nothing but `node` needed to run it. */
export async function bundlePrograms(programs = PROGRAMS): Promise<Bundles> {
  const { html, inputs } = await bundlePage();
  const bundles: Bundles = { files: [], page: html, inputs: new Set(inputs) };
  for (const { source, bundle, split = false } of programs) {
    const { outputFiles, metafile } = await build({
      entryPoints: [source],
      ...(split ? { outdir: path.dirname(bundle), splitting: true } : { outfile: bundle }),
      absWorkingDir: import.meta.dirname,
      bundle: true,
      write: false,
      metafile: true,
      platform: 'node',
      format: 'esm',
      target: 'node22.19',
      sourcemap: 'linked',
      legalComments: 'linked',
      // Native; the agent does without it where it is not installed.
      external: ['usb'],
      plugins: [withoutUnused, usedBuiltins, yamlBeside, withPage(html)],
      logLevel: 'warning',
      // CommonJS dependencies call require(), which an ES module does not have.
      banner: {
        js: "const require = process.getBuiltinModule('node:module').createRequire(import.meta.url);",
      },
    });
    for (const { path: file, contents } of outputFiles)
      bundles.files.push({ path: path.relative(import.meta.dirname, file), contents: plain(file, contents) });
    for (const input of Object.keys(metafile.inputs)) bundles.inputs.add(input);
  }
  return bundles;
}

/** Builds the bundles, unless the environment says that a run of all tests has built them. */
export async function buildBundles(): Promise<void> {
  // biome-ignore lint/style/noProcessEnv: from `test/main.ts`
  if (process.env['ROLLCALL_BUNDLES_ARE_BUILT'] === undefined) await writeBundles();
}

/** Writes them to where the programs are run from; a program that is started meanwhile finds all of one or the other. */
async function writeBundles(): Promise<void> {
  const { files, page } = await bundlePrograms();
  for (const { path: file, contents } of [...files, { path: PAGE_FILE, contents: page }]) {
    const target = path.join(import.meta.dirname, file);
    await mkdir(path.dirname(target), { recursive: true });
    const temporary = `${target}.${process.pid}`;
    await writeFile(temporary, contents);
    await rename(temporary, target);
  }
}

if (import.meta.main) await writeBundles();
