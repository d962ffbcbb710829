import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** What stands behind the `#` of each view. */
export const VIEWS = (node: string, service: string) =>
  ['#/fleet', `#/node/${node}`, '#/services', `#/service/${service}`, '#/plan', '#/ledger'] as const;

/** Runs in the page: a pixel of a cell left of its middle, where no mark is. On a page with few nodes cells have names. */
const PIXEL = `(cell) => {
  const canvas = document.querySelector('.map canvas');
  const columns = Math.max(1, Math.floor((canvas.clientWidth + 6) / 182));
  const [x, y] = [(cell % columns) * 182 + 13, Math.floor(cell / columns) * 40 + 13];
  return String(canvas.getContext('2d').getImageData(x, y, 1, 1).data);
}`;

export function colorOfCell(page: Page, cell: number): Promise<string> {
  return page.evaluate(`(${PIXEL})(${cell})`);
}

/** When the color of a cell is another, by the clock of this machine. The page notes it itself, frame by frame. */
export function whenCellChanges(page: Page, cell: number, before: string): Promise<number> {
  return page.evaluate(`new Promise((resolve) => {
    const look = () => ((${PIXEL})(${cell}) === '${before}' ? requestAnimationFrame(look) : resolve(Date.now()));
    look();
  })`);
}

/** What is wider than the window, or has text that its box cuts off, as markup. */
export function outOfSight(page: Page): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll('body *')]
    .filter((element) => element.getClientRects().length > 0 && !element.closest('.unseen, .skip, thead, svg, .bar'))
    .filter((element) => {
      const isWide = Math.floor(element.getBoundingClientRect().right) > innerWidth;
      const isCut = element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1;
      return isWide || (isCut && getComputedStyle(element).overflow !== 'visible' && !element.matches('.scroller'));
    })
    .map((element) => element.outerHTML.slice(0, 200))`);
}

/** What axe-core finds that is serious or worse, as `rule: element`. */
export async function seriousFaults(page: Page): Promise<string[]> {
  // The page lets no script in; the debugger may.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>('axe.run()');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}
