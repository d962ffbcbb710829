import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { VERSION } from '@rollcall/common/version.ts';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeInBrowser } from './in-browser.ts';
import { seriousFaults } from './on-page.ts';

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
  const changelog = await readFile(path.resolve(import.meta.dirname, '../../CHANGELOG.md'), 'utf8');
  const isReleased = !changelog.includes(`## ${VERSION} (not released yet)`);
  expect(page).toContain(isReleased ? `/blob/v${VERSION}/` : '/blob/HEAD/');
  expect(page).not.toMatch(/href="[^"]*\.\.\/\.\.\/\.\./);
});

/** What people look for, and the page that they need, among the first three that are found. */
const SEARCHED: Readonly<Record<string, string>> = {
  script: 'how-to/file-system-mount',
  nfs: 'how-to/file-system-mount',
  'label missing': 'how-to/troubleshoot',
  watchNamespaces: 'reference/chart',
  'error codes': 'how-to/troubleshoot',
  'feature files': 'reference/hardware',
};

/** Names in code that a line breaks after another character than one that ends a part of them. Runs in the page. */
const BROKEN = `[...document.querySelectorAll('.vp-doc td code')].flatMap((code) => {
  const range = document.createRange();
  const broken = [];
  const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  let before;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (let at = 0; at < node.data.length; at += 1) {
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const top = Math.round(range.getBoundingClientRect().top);
      const isLower = before !== undefined && top > before.top + 4;
      if (isLower && !/[-\\s/._=,:;|)}>"]/.test(before.character)) broken.push(code.textContent);
      before = { top, character: node.data[at] };
    }
  }
  return broken;
})`;

describeInBrowser('the documentation site', (open) => {
  test.each([
    ['reference/flags', 1280],
    ['reference/flags', 400],
    ['reference/values', 1280],
    ['reference/values', 400],
    ['reference/metrics', 1280],
    ['reference/api', 400],
  ])('%s at %d pixels breaks no name within a word, and only its tables are wider', async (name, width) => {
    const page = await open(`${url}/${name}.html`);
    await page.setViewportSize({ width, height: 800 });
    await mounted(page);
    expect(await page.evaluate(BROKEN)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
  });

  test.each(['light', 'dark'] as const)(
    'can be read in %s: every text stands out from what is behind it',
    async (colorScheme) => {
      const page = await open(`${url}/`, { colorScheme });
      for (const name of ['index', 'tutorial/first-service', 'how-to/gates', 'reference/flags', 'design/index']) {
        await page.goto(`${url}/${name}.html`);
        await mounted(page);
        const faults = (await seriousFaults(page)).filter((fault) => fault.startsWith('color-contrast'));
        expect(faults, name).toEqual([]);
      }
    },
  );

  test('leads from the tutorial to what a service can publish, and not to one product', async () => {
    const page = await open(`${url}/tutorial/first-service.html`);
    await mounted(page);
    await page.locator('main').getByRole('link', { name: 'Label, taint or condition' }).click();
    await page.getByRole('heading', { level: 1, name: 'Label, taint or condition' }).waitFor();
    expect(await page.locator('main').innerText()).not.toMatch(/gitpod\.io|workspace/i);
  });

  test('finds a page by a word, and opens it at the anchor that GitHub gives the heading', async () => {
    const page = await open(`${url}/`);
    await mounted(page);
    await page.getByRole('button', { name: 'Search' }).first().click();
    await page.locator('#localsearch-input').fill('NodePoolLabels pool');
    await page.locator('.VPLocalSearchBox .results a').first().click();
    await page.locator('main h1').waitFor();
    expect(await page.locator('main').textContent()).toContain('NodePoolLabels');

    for (const [words, wanted] of Object.entries(SEARCHED)) {
      await page.getByRole('button', { name: 'Search' }).first().click();
      await page.locator('#localsearch-input').fill(words);
      const found = () =>
        page
          .locator('.VPLocalSearchBox .results a')
          .evaluateAll((all) => all.slice(0, 3).map((link) => link.getAttribute('href')));
      // The box remembers what was found last.
      await expect.poll(found).toContainEqual(expect.stringContaining(wanted));
      await page.keyboard.press('Escape');
    }

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
