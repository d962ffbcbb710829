import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The folder of the pages. */
export const PAGES = path.resolve(import.meta.dirname, '..');

/** Sections of the site with their pages, in the order of the side bar. A name that ends in `/` is a folder of pages. */
const SECTIONS = [
  { title: 'Tutorial', folder: 'tutorial', pages: ['first-service'] },
  {
    title: 'How-to',
    folder: 'how-to',
    pages: [
      'install',
      'services',
      'without-agents',
      'file-system-mount',
      'gates',
      'startup-taint',
      'scheduling',
      'evict',
      'notify',
      'node-pools',
      'node-holds',
      'rules',
      'policies',
      'monitor',
      'troubleshoot',
      'runbooks/',
      'recipes',
      'platforms/',
      'gitpod',
      'migrate',
      'upgrade',
      'uninstall',
    ],
  },
  {
    title: 'Reference',
    folder: 'reference',
    pages: [
      'node-services',
      'probes',
      'api',
      'reports',
      'keys',
      'events',
      'values',
      'chart',
      'flags',
      'metrics',
      'alerts',
      'notifications',
      'hardware',
      'kubectl-rollcall',
      'console',
      'extender',
      'support',
      'sizing',
    ],
  },
  { title: 'Explanation', folder: 'explanation', pages: ['how-it-works', 'guards', 'drift', 'comparison'] },
  { title: 'Design', folder: '', pages: ['design/'] },
] as const;

const FOLDER_TITLES: Readonly<Record<string, string>> = {
  'platforms/': 'Platforms',
  'runbooks/': 'Runbooks',
  'design/': 'Decisions',
};

/** An entry of the side bar: a page, or a group of pages. */
export type Entry = { text: string; link?: string; items?: Entry[]; collapsed?: boolean };

/** The side bar; each title is the first heading of the page. */
export function sideBar(): Entry[] {
  return SECTIONS.map(({ title, folder, pages }) => ({
    text: title,
    items: pages.map((page) => (page.endsWith('/') ? groupOf(folder, page) : entryOf(`${folder}/${page}`))),
  }));
}

function groupOf(folder: string, name: string): Entry {
  const pages = readdirSync(path.join(PAGES, folder, name))
    .filter((file) => file.endsWith('.md'))
    .map((file) => file.slice(0, -'.md'.length))
    // The overview of the folder, which is called index, comes first.
    .toSorted((a, b) => Number(b === 'index') - Number(a === 'index') || a.localeCompare(b));
  const items = pages.map((page) => entryOf(`${folder}/${name}${page}`));
  return { text: FOLDER_TITLES[name] ?? name, collapsed: true, items };
}

/** `page` is the path of the page without its extension. */
function entryOf(page: string): Entry {
  const heading = /^# (.*)$/m.exec(readFileSync(path.join(PAGES, `${page}.md`), 'utf8'))?.[1];
  if (heading === undefined) throw new Error(`${page}.md has no heading`);
  return { text: heading.replaceAll('`', ''), link: path.posix.join('/', page.replace(/\bindex$/, '')) };
}

/** The first page of a section, for the bar at the top. */
export function firstPages(): { text: string; link: string }[] {
  return sideBar().map(({ text, items = [] }) => ({ text, link: items[0]?.link ?? items[0]?.items?.[0]?.link ?? '/' }));
}
