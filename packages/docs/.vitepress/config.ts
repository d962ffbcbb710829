import { defineConfig } from 'vitepress';
import { PROJECT } from '../../../deploy/source/project.ts';
import { anchorOf } from '../src/anchors.ts';
import { breakCode } from '../src/break-code.ts';
import { firstPages, sideBar } from '../src/navigation.ts';
import { linkToSource } from '../src/source-links.ts';

export default defineConfig({
  lang: 'en',
  title: 'rollcall',
  description: 'Shows which nodes of a Kubernetes cluster can do their job.',
  head: [
    ['link', { rel: 'icon', href: '/icon.svg' }],
    // A table that is too wide scrolls by itself. Names break only where `breakCode` lets them.
    ['style', {}, '.vp-doc td code { overflow-wrap: normal; word-break: normal }'],
    // Quiet text and the first button of the theme stand out too little from what is behind them.
    [
      'style',
      {},
      'html:root { --vp-c-text-3: #67676c; --vp-button-brand-bg: #3a5ccc } html.dark:root { --vp-c-text-3: #98989f; --vp-button-brand-bg: #3e63dd }',
    ],
  ],
  srcExclude: ['README.md'],
  outDir: 'dist',
  cacheDir: 'node_modules/.vitepress',
  // The tables of the reference need the width.
  transformPageData: ({ relativePath, frontmatter }) =>
    relativePath.startsWith('reference/') ? { frontmatter: { ...frontmatter, aside: false } } : {},
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: anchorOf },
    config: (markdown) => {
      linkToSource(markdown);
      breakCode(markdown);
    },
  },
  themeConfig: {
    nav: firstPages(),
    sidebar: sideBar(),
    outline: [2, 3],
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: PROJECT.source }],
  },
});
