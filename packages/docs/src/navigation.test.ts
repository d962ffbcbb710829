import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Entry, firstPages, PAGES, sideBar } from './navigation.ts';

const linksOf = (entries: readonly Entry[]): string[] =>
  entries.flatMap(({ link, items = [] }) => [...(link === undefined ? [] : [link]), ...linksOf(items)]);

test('every page is in the side bar once', () => {
  const pages = readdirSync(PAGES, { recursive: true, encoding: 'utf8' })
    .filter((file) => /^(tutorial|how-to|reference|explanation|design)\/.*\.md$/.test(file))
    .map((file) => `/${file.replace(/(\bindex)?\.md$/, '')}`);
  expect(pages.length).toBeGreaterThan(20);
  expect(linksOf(sideBar()).toSorted()).toEqual(pages.toSorted());
});

test('every section in the bar at the top leads to a page of it', () => {
  expect(firstPages().filter(({ link }) => link === '/')).toEqual([]);
});
