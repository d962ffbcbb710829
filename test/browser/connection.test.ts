import type { Page } from 'playwright-core';
import { afterEach, expect, test } from 'vitest';
import { BLANK, describeInBrowser } from './in-browser.ts';
import { PretendConsole } from './pretend-console.ts';
import { nodeSummary } from './pretend-fleet.ts';

const DOWN = { services: { 'ws-daemon': 'not-ready', 'registry-facade': 'ready' } } as const;

let console: PretendConsole;
afterEach(() => console?.close());

const heading = (page: Page) => page.getByRole('heading', { level: 1 }).innerText();
const lost = (page: Page) => page.getByRole('alert').getByText('What you see is as of');

/** Whether a list of all nodes was asked for, rather than what changed alone. */
function countLists(page: Page): () => number {
  let count = 0;
  page.on('request', (request) => {
    if (new URL(request.url()).pathname === '/v1/nodes') count += 1;
  });
  return () => count;
}

describeInBrowser('a lost connection', (open) => {
  test('is shown with the time of what is seen, and goes on without a gap when it is back', async () => {
    console = await PretendConsole.start([nodeSummary('a'), nodeSummary('b')]);
    const page = await open(console.url);
    await expect.poll(() => heading(page)).toBe('All 2 nodes are ready.');
    const lists = countLists(page);
    console.tell(nodeSummary('b', DOWN));
    await expect.poll(() => heading(page)).toBe('1 of 2 nodes is not ready.');
    console.tell(nodeSummary('b'));
    await expect.poll(() => heading(page)).toBe('All 2 nodes are ready.');
    const again = page.waitForRequest((request) => request.url().includes('/v1/stream'));
    await console.close();
    // From the second event on, not from the list, so that nothing is sent twice.
    expect((await again).url()).toMatch(/after=[0-9a-f]+\.2$/);
    await lost(page).waitFor();
    expect(await heading(page)).toMatch(/^As of \d\d:\d\d:\d\d: All 2 nodes are ready\.$/);
    await expect.poll(() => page.title()).toContain('No connection');
    // Changes during the interruption are shown when the connection is back.
    console.tell(nodeSummary('a', DOWN), nodeSummary('c'));
    console.remove('b');
    await console.open();
    await expect.poll(() => heading(page), { timeout: 30_000 }).toBe('1 of 2 nodes is not ready.');
    expect(await lost(page).count()).toBe(0);
    expect(lists()).toBe(0);
  });

  test('is taken up by a leader that does not know what was told before', async () => {
    console = await PretendConsole.start([nodeSummary('a'), nodeSummary('b')]);
    const page = await open(console.url);
    await expect.poll(() => heading(page)).toBe('All 2 nodes are ready.');
    const lists = countLists(page);
    await console.close();
    await lost(page).waitFor();
    console.nodes.delete('a');
    console.nodes.set('c', nodeSummary('c', DOWN));
    console.restartStream();
    await console.open();
    await expect.poll(() => heading(page), { timeout: 30_000 }).toBe('1 of 2 nodes is not ready.');
    expect(lists()).toBe(1);
    // The stream after it works as before.
    console.tell(nodeSummary('c'));
    await expect.poll(() => heading(page)).toBe('All 2 nodes are ready.');
  });

  test('is tried again at once when the user asks', async () => {
    console = await PretendConsole.start([nodeSummary('a')]);
    const page = await open(console.url);
    await expect.poll(() => heading(page)).toBe('The only node is ready.');
    await console.close();
    await lost(page).waitFor();
    await console.open();
    // It may be back by itself before the button is found.
    await page
      .getByRole('button', { name: 'Try now' })
      .click({ timeout: 500 })
      .catch(() => {});
    await expect.poll(() => lost(page).count()).toBe(0);
  });

  test('is noticed where the connection stays open and nothing comes any more', async () => {
    console = await PretendConsole.start([nodeSummary('a')]);
    const page = await open(BLANK);
    await page.clock.install();
    await page.goto(console.url);
    await expect.poll(() => heading(page)).toBe('The only node is ready.');
    // The coordinator gives a sign of life every 15 s, of which none comes while its clock stands.
    await page.clock.pauseAt(Date.now() + 60_000);
    await page.getByText('Nothing was heard any more').waitFor();
    await page.clock.resume();
    await expect.poll(() => lost(page).count(), { timeout: 30_000 }).toBe(0);
  });

  test('before anything was known is not shown as an empty fleet', async () => {
    console = await PretendConsole.start([nodeSummary('a')]);
    console.isBroken = true;
    const page = await open(console.url);
    await page.getByText('Nothing is known yet').waitFor();
    await page.getByText('The coordinator answered 502').waitFor();
    expect(await page.getByText('There are no nodes').count()).toBe(0);
    console.isBroken = false;
    await expect.poll(() => heading(page), { timeout: 30_000 }).toBe('The only node is ready.');
  });

  test('of a replica that does not lead is said, and it takes up the leader', async () => {
    console = await PretendConsole.start([nodeSummary('a')]);
    console.set({ leading: false, leader: 'coordinator-2', note: 'This replica does not lead and hears no agent' });
    const page = await open(console.url);
    await page.getByText('This replica does not lead and hears no agent (coordinator-2).').waitFor();
    console.replica = {};
    await expect.poll(() => page.getByText('does not lead').count(), { timeout: 20_000 }).toBe(0);
    console.tell(nodeSummary('a', DOWN));
    await expect.poll(() => heading(page)).toBe('1 of 1 node is not ready.');
  });
});
