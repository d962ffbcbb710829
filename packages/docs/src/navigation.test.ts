import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Entry, PAGES, sideBar } from './navigation.ts';

const linksOf = (entries: readonly Entry[]): string[] =>
  entries.flatMap(({ link, items = [] }) => [...(link === undefined ? [] : [link]), ...linksOf(items)]);

test('every page is in the side bar once', () => {
  const pages = readdirSync(PAGES, { recursive: true, encoding: 'utf8' })
    .filter((file) => /^(tutorial|how-to|reference|explanation)\/.*\.md$/.test(file))
    .map((file) => `/${file.replace(/(\bindex)?\.md$/, '')}`);
  expect(pages.length).toBeGreaterThan(20);
  expect(linksOf(sideBar()).toSorted()).toEqual(pages.toSorted());
});
