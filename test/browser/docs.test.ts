import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeInBrowser } from './in-browser.ts';

const MAIN = path.resolve(import.meta.dirname, '../../packages/docs/src/main.ts');
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

let dir: string;
let server: Server;
let url: string;

beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'rollcall-docs-'));
  // Fails for a link to a page that is not there.
  await promisify(execFile)(process.execPath, [MAIN, '--out', dir]);
  server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://docs');
    const file = path.join(dir, pathname.endsWith('/') ? `${pathname}index.html` : pathname);
    try {
      const content = await readFile(file);
      response.setHeader('content-type', TYPES[path.extname(file)] ?? 'application/octet-stream').end(content);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  // A quarter of a minute on an idle machine.
}, 300_000);

afterAll(async () => {
  server?.closeAllConnections();
  server?.close();
  await rm(dir, { recursive: true, force: true });
});

/** Waits until the page is alive: a click before that would make the router hydrate another page than the one that is there. */
async function mounted(page: Page): Promise<void> {
  await page.waitForFunction("document.querySelector('#app')?.__vue_app__ !== undefined");
}

test('links that lead out of the site lead to the source of the version', async () => {
  const page = await readFile(path.join(dir, 'how-to/migrate.html'), 'utf8');
  expect(page).toContain('/blob/v');
  expect(page).not.toMatch(/href="[^"]*\.\.\/\.\.\/\.\./);
});

describeInBrowser('the documentation site', (open) => {
  test('finds a page by a word, and opens it at the anchor that GitHub gives the heading', async () => {
    const page = await open(`${url}/`);
    await mounted(page);
    await page.getByRole('button', { name: 'Search' }).first().click();
    await page.locator('#localsearch-input').fill('NodePoolLabels pool');
    await page.locator('.VPLocalSearchBox .results a').first().click();
    await page.locator('main h1').waitFor();
    expect(await page.locator('main').textContent()).toContain('NodePoolLabels');

    await page.goto(`${url}/how-to/gates.html#the-kubelet-also-checks-labels`);
    await mounted(page);
    expect(await page.locator('#the-kubelet-also-checks-labels').textContent()).toContain(
      'The kubelet also checks labels',
    );
    // The side bar leads to another page without loading the site again.
    await page.locator('aside.VPSidebar').getByRole('link', { name: 'NodeHolds' }).click();
    await page.getByRole('heading', { level: 1, name: 'NodeHolds' }).waitFor();
  });
});
