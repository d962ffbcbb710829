import { build } from 'esbuild';

/** Bundles each program into one file: quicker to start, less memory, and nothing but `node` needed to run it. */
export async function buildBundles(): Promise<void> {
  for (const name of ['agent', 'coordinator']) {
    await build({
      entryPoints: [`${name}/src/main.ts`],
      outfile: `${name}/dist/main.js`,
      absWorkingDir: import.meta.dirname,
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node22.19',
      sourcemap: 'linked',
      keepNames: true,
      legalComments: 'linked',
      logLevel: 'warning',
      // CommonJS dependencies call require(), which an ES module does not have.
      banner: {
        js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
      },
    });
  }
}

if (import.meta.main) await buildBundles();
