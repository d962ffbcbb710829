import { parseArgs } from 'node:util';
import { build, createServer, serve } from 'vitepress';
import { PAGES } from './navigation.ts';

/**
 * Builds the site. `--serve` then serves what was built, `--edit` serves the pages as they are edited; both on loopback
 * alone. `--out DIR` names the folder for the site.
 */
const { values } = parseArgs({
  options: {
    edit: { type: 'boolean', default: false },
    out: { type: 'string' },
    port: { type: 'string', default: '5173' },
    serve: { type: 'boolean', default: false },
  },
});

const port = Number(values.port);
if (values.serve && values.out !== undefined) {
  process.stderr.write('--serve shows the site in its default folder: leave out --out\n');
  process.exitCode = 2;
} else if (values.edit) {
  const server = await createServer(PAGES, { host: '127.0.0.1', port });
  await server.listen();
  server.printUrls();
} else {
  await build(PAGES, values.out === undefined ? {} : { outDir: values.out });
  if (values.serve) await serve({ root: PAGES, port: onLoopback(port) });
}

/** vitepress has no option for the address, but hands `port` to `server.listen` as it is, and prints it. */
function onLoopback(port: number): number {
  return { host: '127.0.0.1', port, toString: () => String(port) } as unknown as number;
}
