import type { TestProject } from 'vitest/node';
import './in-browser.ts';
import { ensureChromium } from './chromium.ts';

/**
 * Finds or installs a browser. Where there is none the tests are skipped, and this says why.
 * @public vitest calls it.
 */
export async function setup(project: TestProject): Promise<void> {
  try {
    project.provide('chromium', { path: await ensureChromium(process.stderr), obstacle: '' });
  } catch (error) {
    const obstacle = error instanceof Error ? error.message : String(error);
    process.stderr.write(`The tests in a browser are skipped: ${obstacle}\n`);
    project.provide('chromium', { path: '', obstacle });
  }
}
