import type { Page } from 'playwright-core';
import { afterEach, expect, test } from 'vitest';
import { describeInBrowser } from './in-browser.ts';
import { PretendConsole } from './pretend-console.ts';
import { nodeSummary } from './pretend-fleet.ts';

const DOWN = { services: { 'ws-daemon': 'not-ready', 'registry-facade': 'ready' } } as const;

let console: PretendConsole;
afterEach(() => console?.close());

const TABS_MAX = 40;
const FOCUSED = 'document.activeElement';

/** Presses Tab until the element that has the focus is named so. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  const seen: string[] = [];
  for (let presses = 0; presses < TABS_MAX; presses += 1) {
    await page.keyboard.press('Tab');
    const label = await page.evaluate<string>(`${FOCUSED}.getAttribute('aria-label') ?? ${FOCUSED}.textContent`);
    if (name.test(label)) return;
    seen.push(label.slice(0, 40));
  }
  throw new Error(`${name} does not get the focus; these do: ${seen.join(' | ')}`);
}

/** Presses a key until the link is there: Chromium takes about one in 500 for nothing while it scrolls. */
async function scrollTo(page: Page, key: 'End' | 'Home', name: string): Promise<void> {
  const link = page.getByRole('link', { name, exact: true });
  const isThere = async () => {
    await page.keyboard.press(key);
    return link.waitFor({ timeout: 2000 }).then(
      () => true,
      () => false,
    );
  };
  await expect.poll(isThere).toBe(true);
}

/** The text that a screen reader reads for the chosen cell. */
function chosen(page: Page): Promise<string> {
  return page.evaluate(`document.getElementById(${FOCUSED}.getAttribute('aria-activedescendant')).textContent`);
}

describeInBrowser('with the keyboard alone', (open) => {
  test('one gets from the fleet to the node that is not ready, and back', async () => {
    console = await PretendConsole.start(
      Array.from({ length: 300 }, (_, index) => nodeSummary(`node-${index + 1}`, index === 120 ? DOWN : {})),
    );
    const page = await open(console.url);
    await page.getByRole('listbox').waitFor();
    await tabTo(page, /^Pool general/);
    expect(await chosen(page)).toBe('node-1 ready');
    await page.keyboard.press('ArrowRight');
    expect(await chosen(page)).toBe('node-2 ready');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    expect(await chosen(page)).toBe('node-2 ready');
    await page.keyboard.press('End');
    expect(await chosen(page)).toBe('node-300 ready');
    await page.keyboard.press('n');
    expect(await chosen(page)).toBe('node-121 not ready; ws-daemon not ready');
    // What the screen reader says follows the stream.
    console.tell(nodeSummary('node-121', { ...DOWN, heldBack: ['ws-daemon'] }));
    await expect.poll(() => chosen(page)).toMatch(/^node-121 held back/);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate(`${FOCUSED}.textContent`)).toMatch(/node-121/);
    expect(page.url()).toContain('#/node/node-121');
    await page.goBack();
    await page.getByText('300 nodes').first().waitFor();
  });

  test('every view can be opened, a state singled out, and a list scrolled', async () => {
    console = await PretendConsole.start(
      Array.from({ length: 200 }, (_, index) => nodeSummary(`node-${index + 1}`, index % 2 === 1 ? DOWN : {})),
    );
    const page = await open(console.url);
    await page.getByRole('listbox').waitFor();
    await tabTo(page, /^Services$/);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate(`${FOCUSED}.textContent`)).toBe('Services');
    await tabTo(page, /^ws-daemon$/);
    await page.keyboard.press('Enter');
    await page.getByText('Ready on 100 of 200 nodes.').waitFor();
    await page.goto(`${console.url}#/fleet`);
    await page.getByRole('listbox').waitFor();
    await tabTo(page, /Not ready$/);
    await page.keyboard.press('Space');
    await page.getByRole('heading', { name: '100 nodes not ready' }).waitFor();
    await tabTo(page, /^100 nodes not ready$/);
    await scrollTo(page, 'End', 'node-200');
    await scrollTo(page, 'Home', 'node-2');
  });

  test('where the focus is can be seen', async () => {
    console = await PretendConsole.start([nodeSummary('a')]);
    const page = await open(console.url);
    await page.getByRole('listbox').waitFor();
    for (const name of [/^Fleet$/, /Ready$/, /^Find nodes/, /^Pool general/]) {
      await tabTo(page, name);
      const outline = await page.evaluate(`getComputedStyle(${FOCUSED}).outlineStyle`);
      expect(outline, String(name)).toBe('solid');
    }
  });
});
