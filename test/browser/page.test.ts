import type { Page } from 'playwright-core';
import { afterEach, expect, test } from 'vitest';
import { describeInBrowser } from './in-browser.ts';
import { colorOfCell, outOfSight, seriousFaults, VIEWS } from './on-page.ts';
import { PretendConsole } from './pretend-console.ts';
import { auditEntry, nodeSummary, plannedNode } from './pretend-fleet.ts';

const DOWN = { services: { 'ws-daemon': 'not-ready', 'registry-facade': 'ready' } } as const;

let console: PretendConsole;
afterEach(() => console?.close());

/** A fleet with a node in each state. */
async function motley(): Promise<PretendConsole> {
  const silent = { agent: 'silent', services: { 'ws-daemon': 'not-ready', 'registry-facade': 'not-ready' } } as const;
  console = await PretendConsole.start([
    ...Array.from({ length: 20 }, (_, index) => nodeSummary(`fine-${index + 1}`)),
    nodeSummary('down', DOWN),
    nodeSummary('held', { ...DOWN, heldBack: ['ws-daemon'] }),
    nodeSummary('silent', silent),
    nodeSummary('guarded', { agent: 'silent', guard: 'pool gpu', pool: 'gpu' }),
    nodeSummary('unsure', { agent: 'unheard', services: { 'ws-daemon': 'unknown', 'registry-facade': 'unknown' } }),
    nodeSummary('disputed', { contested: ['example.com/key'], pool: 'gpu' }),
  ]);
  console.plan = [
    plannedNode('down', 'example.com/a', 'because'),
    plannedNode('held', 'example.com/b', 'no more', true),
  ];
  console.entries = [auditEntry('down', { since: new Date().toISOString() }), auditEntry('held')];
  return console;
}

const heading = (page: Page) => page.getByRole('heading', { level: 1 }).innerText();

describeInBrowser('the page', (open) => {
  test('says in a sentence how the fleet is, and follows it', async () => {
    const { url } = await motley();
    const page = await open(url);
    const sentence = '1 of 26 nodes is not ready, 1 silent, 1 held back, 1 guarded, 1 unknown.';
    await expect.poll(() => heading(page)).toBe(sentence);
    await page.getByText('6 nodes to look at').waitFor();
    console.tell(nodeSummary('down'), nodeSummary('new', { pool: 'gpu' }));
    await expect.poll(() => heading(page)).toBe('1 of 27 nodes is silent, 1 held back, 1 guarded, 1 unknown.');
    for (const name of ['silent', 'held', 'guarded', 'unsure']) console.remove(name);
    await expect.poll(() => heading(page)).toBe('All 23 nodes are ready.');
    console.set({ guards: [{ subject: 'agents', of: 'pool gpu', nodes: 3 }], dryRun: true });
    await page.getByText('most agents are silent at once (pool gpu)').waitFor();
    await page.getByText('dry run', { exact: true }).waitFor();
    expect(await page.title()).toBe('rollcall');
  });

  test('says that nothing is checked where no service is for any node, and how to begin', async () => {
    console = await PretendConsole.start([nodeSummary('a', { services: {} }), nodeSummary('b', { services: {} })]);
    const page = await open(console.url);
    await expect.poll(() => heading(page)).toBe('Nothing is checked on any of the 2 nodes.');
    await page.getByText('kubectl explain nodeservice.spec').waitFor();
  });

  test('changes the color of a cell when its node changes', async () => {
    console = await PretendConsole.start([nodeSummary('a'), nodeSummary('b')]);
    const page = await open(console.url);
    await expect.poll(() => heading(page)).toBe('All 2 nodes are ready.');
    const ready = await colorOfCell(page, 1);
    expect(await colorOfCell(page, 0)).toBe(ready);
    console.tell(nodeSummary('b', DOWN));
    await expect.poll(() => colorOfCell(page, 1)).not.toBe(ready);
    expect(await colorOfCell(page, 0)).toBe(ready);
    console.tell(nodeSummary('b'));
    await expect.poll(() => colorOfCell(page, 1)).toBe(ready);
  });

  test('shows a node with its chain of reasons, live', async () => {
    const { url } = await motley();
    const page = await open(`${url}#/node/down`);
    const chain = page.getByRole('region', { name: 'Why: ws-daemon' });
    await expect.poll(() => chain.getByRole('listitem').allInnerTexts()).toHaveLength(5);
    const steps = (await chain.getByRole('listitem').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '));
    expect(steps[0]).toMatch(/pod default\/ws-daemon-down is Ready/);
    expect(steps[1]).toMatch(/check probe fails: tcp 10\.0\.0\.7:8080 refused the connection twice/);
    expect(steps[2]).toMatch(/report reporting, last [\d.]+ s ago/);
    expect(steps[3]).toMatch(/verdict not-ready, since .*: the probe fails/);
    expect(steps[4]).toMatch(
      /label node\/down does not have the label gitpod\.io\/ws-daemon_ready_ns_default: ws-daemon is not/,
    );
    await page.getByText('label gitpod.io/ws-daemon_ready_ns_default removed: the probe fails').waitFor();
    console.tell(nodeSummary('down'));
    await page.getByText('node/down is as rollcall wants it: 2 of 2 services are ready').waitFor();
    await chain.getByText('tcp 10.0.0.7:8080 accepted').waitFor();
  });

  test('shows a service across the fleet', async () => {
    const { url } = await motley();
    const page = await open(`${url}#/services`);
    await page.getByText('ready on 22 of 26 nodes').waitFor();
    await page.getByRole('link', { name: 'ws-daemon' }).click();
    await page.getByText('Ready on 22 of 26 nodes.').waitFor();
    await page.getByText('a pod in default on the node is Ready').waitFor();
    expect(await page.getByRole('table').getByRole('link').allInnerTexts()).toEqual([
      'down',
      'silent',
      'held',
      'unsure',
    ]);
  });

  test('shows what would change, and the ledger', async () => {
    const { url } = await motley();
    console.set({ dryRun: true });
    const page = await open(`${url}#/plan`);
    await page.getByText('2 changes on 2 nodes.').waitFor();
    await page.getByText('This is a dry run: nothing is written to any Node.').waitFor();
    await page.getByText('label example.com/a = true would be set on 1 node').waitFor();
    await page.getByText('label example.com/b would be removed on 1 node').waitFor();
    await page.getByRole('link', { name: 'Truth ledger' }).click();
    await page.getByText('0.4 s a node a day').waitFor();
    expect(await page.getByText('extrapolated').count()).toBe(0);
    await page.getByText('2 entries, by node and cause').waitFor();
    const first = page.getByRole('table', { name: 'Entries of the ledger' }).getByRole('row').nth(1);
    expect(await first.innerText()).toMatch(/down.*said ready, was not.*Now, since/s);
  });

  test('finds nodes by what is known of them', async () => {
    const { url } = await motley();
    const page = await open(url);
    await page.getByRole('searchbox').fill('fine-1 general');
    await page.getByText('11 nodes found').waitFor();
    await page.getByRole('button', { name: 'Silent' }).click();
    await page.getByText('0 nodes silent').waitFor();
    await page.getByRole('searchbox').fill('');
    await page.getByText('1 node silent').waitFor();
  });

  test.each(['light', 'dark'] as const)(
    'has nothing serious for axe-core to find, in every view (%s)',
    async (colorScheme) => {
      const { url } = await motley();
      console.set({ guards: [{ subject: 'configuration', of: 'label a', nodes: 3 }] });
      const page = await open(url, { colorScheme });
      for (const hash of VIEWS('down', 'ws-daemon')) {
        await page.goto(`${url}${hash}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.waitForLoadState();
        expect(await seriousFaults(page), hash).toEqual([]);
      }
      await console.close();
      await page.getByText('Connection lost.').waitFor();
      expect(await seriousFaults(page), 'lost').toEqual([]);
    },
  );

  test('shows every word at 400 pixels, in every view, without a scroll bar across', async () => {
    const { url } = await motley();
    const page = await open(url, { viewport: { width: 400, height: 800 } });
    for (const hash of VIEWS('down', 'ws-daemon')) {
      await page.goto(`${url}${hash}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.getByText('Reading…').waitFor({ state: 'detached' });
      expect(await outOfSight(page), hash).toEqual([]);
    }
    const entry = page.getByRole('table', { name: 'Entries of the ledger' }).getByRole('row').nth(1);
    expect(await entry.innerText()).toMatch(/down.*said ready, was not.*Now, since.*ECONNREFUSED/s);
  });

  test('is dark where the system is', async () => {
    const { url } = await motley();
    const brightness = async (page: Page) =>
      page.evaluate<number>('Number(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])');
    expect(await brightness(await open(url, { colorScheme: 'dark' }))).toBeLessThan(50);
    const page = await open(url, { colorScheme: 'light' });
    expect(await brightness(page)).toBeGreaterThan(200);
    await expect.poll(() => heading(page)).toMatch(/of 26/);
    const before = await colorOfCell(page, 0);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(() => colorOfCell(page, 0)).not.toBe(before);
  });
});
