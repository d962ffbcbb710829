import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, inject } from 'vitest';
import { launch } from './chromium.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of the browser, or why there is none. Found out by `global-setup.ts`. */
    chromium: { path: string; obstacle: string };
  }
}

/** A window in which nothing is opened yet. */
export const BLANK = 'about:blank';

/** Opens an address in a window of its own. */
export type Open = (url: string, options?: BrowserContextOptions) => Promise<Page>;

/** What a browser logs when the console is away; the page itself reports this as well. */
const AWAY = /net::ERR_(CONNECTION_|INCOMPLETE_CHUNKED|EMPTY_RESPONSE|SOCKET)|status of 502/;

/**
 * A `describe` with a browser, skipped with the reason in its name where there is none. After each test its windows are
 * closed; each must have run without an error, and without a request to anywhere but where it came from.
 */
export function describeInBrowser(name: string, tests: (open: Open) => void): void {
  const { path, obstacle } = inject('chromium');
  if (obstacle !== '') {
    describe.skip(`${name} (not on this machine: ${obstacle})`, () => tests(() => Promise.reject(new Error(obstacle))));
    return;
  }
  describe(name, () => {
    let browser: Browser;
    const pages: Page[] = [];
    const wrong: string[] = [];
    beforeAll(async () => {
      browser = await launch(path);
    });
    afterAll(() => browser?.close());
    afterEach(async () => {
      await Promise.all(pages.splice(0).map((page) => page.context().close()));
      expect(wrong.splice(0)).toEqual([]);
    });
    tests(async (url, options) => {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
      context.setDefaultTimeout(20_000);
      const page = await context.newPage();
      pages.push(page);
      let origin: string | undefined;
      page.on('pageerror', (error) => wrong.push(`threw ${error.message}`));
      page.on('console', (message) => {
        if (message.type() === 'error' && !AWAY.test(message.text())) wrong.push(`said ${message.text()}`);
      });
      page.on('request', (request) => {
        const asked = new URL(request.url());
        origin ??= asked.origin;
        if (asked.protocol !== 'data:' && asked.origin !== origin) wrong.push(`asked ${asked}`);
      });
      if (url !== BLANK) await page.goto(url);
      return page;
    });
  });
}
