import { expect, test, vi } from 'vitest';
import { appearance, isNarrow, watchAppearance } from './appearance.ts';
import { standInForBrowser } from './browser.test-fixtures.ts';

test('what changes how the page looks is noticed, until the page goes', () => {
  const browser = standInForBrowser();
  const queries = new Map<string, EventTarget & { matches: boolean }>();
  vi.stubGlobal('matchMedia', (query: string) => {
    const target = Object.assign(new EventTarget(), { matches: true });
    queries.set(query, target);
    return target;
  });
  const ending = new AbortController();
  watchAppearance(ending.signal);
  const changes = () => {
    const before = appearance.value;
    for (const target of queries.values()) target.dispatchEvent(new Event('change'));
    browser.happen('resize');
    return appearance.value - before;
  };
  expect([...queries.keys()]).toEqual([
    '(max-width: 640px)',
    '(prefers-color-scheme: dark)',
    '(prefers-contrast: more)',
    '(forced-colors: active)',
  ]);
  expect(isNarrow.value).toBe(true);
  for (const target of queries.values()) target.matches = false;
  expect(changes()).toBe(4);
  expect(isNarrow.value).toBe(false);
  ending.abort();
  expect(changes()).toBe(0);
});
