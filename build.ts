import { build } from 'esbuild';

const PROGRAMS = [
  { source: 'agent/src/main.ts', bundle: 'agent/dist/main.js' },
  // Run by the agent now and then, as a process of its own: what it needs does not weigh on main.js.
  { source: 'agent/src/facts/child.ts', bundle: 'agent/dist/facts.js' },
  { source: 'coordinator/src/main.ts', bundle: 'coordinator/dist/main.js' },
];

/** Bundles each program into one file: quicker to start, less memory, and nothing but `node` needed to run it. */
export async function buildBundles(): Promise<void> {
  for (const { source, bundle } of PROGRAMS) {
    await build({
      entryPoints: [source],
      outfile: bundle,
      absWorkingDir: import.meta.dirname,
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node22.19',
      sourcemap: 'linked',
      keepNames: true,
      legalComments: 'linked',
      // Native; the agent does without it where it is not installed.
      external: ['usb'],
      logLevel: 'warning',
      // CommonJS dependencies call require(), which an ES module does not have.
      banner: {
        js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
      },
    });
  }
}

if (import.meta.main) await buildBundles();
