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
if (values.edit) {
  const server = await createServer(PAGES, { host: '127.0.0.1', port });
  await server.listen();
  server.printUrls();
} else {
  await build(PAGES, values.out === undefined ? {} : { outDir: values.out });
  if (values.serve) await serve({ root: PAGES, port });
}
