import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { NodeSummary } from '@rollcall/common/console.ts';
import type { Browser, Page } from 'playwright-core';
import { buildBundles } from '../../build.ts';
import { ensureChromium, launch } from './chromium.ts';
import { PretendConsole } from './pretend-console.ts';
import { auditEntry, nodeSummary, plannedNode, serviceDocument } from './pretend-fleet.ts';

/** Takes pictures of every view, of a small fleet and of a large one, to look at: `node test/browser/main.ts DIR`. */

const STEP_MS = 20_000;
const STEPS = 178;
const DOWN = { services: { 'ws-daemon': 'not-ready', 'registry-facade': 'ready' } } as const;
const SILENT = { agent: 'silent', services: { 'ws-daemon': 'not-ready', 'registry-facade': 'not-ready' } } as const;
const UNHEARD = { agent: 'unheard', services: { 'ws-daemon': 'unknown', 'registry-facade': 'unknown' } } as const;

const dir = process.argv[2] ?? path.join(import.meta.dirname, 'dist');
await mkdir(dir, { recursive: true });
await buildBundles();
const browser = await launch(await ensureChromium(process.stderr));
try {
  for (const nodes of [5, 240, 5000]) {
    for (const colorScheme of ['light', 'dark'] as const) await takePictures(browser, nodes, colorScheme);
  }
} finally {
  await browser.close();
}

async function takePictures(browser: Browser, count: number, colorScheme: 'light' | 'dark'): Promise<void> {
  const console = await PretendConsole.start(Array.from({ length: count }, (_, index) => nodeAt(index)));
  fill(console);
  const page = await browser.newPage({ viewport: { width: 1200, height: 780 }, colorScheme });
  await page.clock.install();
  await page.goto(console.url);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await liveThroughAnHour(console, page);
  const take = (view: string) => page.screenshot({ path: path.join(dir, `${view}-${count}-${colorScheme}.png`) });
  await page.hover('.map canvas', { position: { x: 190, y: 8 } });
  await take('fleet');
  for (const [view, hash] of Object.entries({
    node: `#/node/${nodeAt(1).name}`,
    services: '#/services',
    service: '#/service/ws-daemon',
    plan: '#/plan',
    ledger: '#/ledger',
  })) {
    await page.goto(`${console.url}${hash}`);
    await page.getByText('Reading').waitFor({ state: 'detached' });
    await take(view);
  }
  await page.goto(`${console.url}#/fleet`);
  await console.close();
  await page.getByText('Connection lost.').waitFor();
  await take('lost');
  await page.close();
}

/** Trouble comes and goes, and some stays. */
async function liveThroughAnHour(console: PretendConsole, page: Page): Promise<void> {
  const count = console.nodes.size;
  for (let step = 0; step < STEPS; step += 1) {
    const storm = step > 50 && step < 70 ? Math.ceil(count / 40) : step % 29 === 3 ? 1 : 0;
    const changed = Array.from({ length: Math.max(1, Math.ceil(count / 40)) }, (_, index) =>
      nodeAt(index * 7, index < storm ? DOWN : {}),
    );
    console.tell(...changed);
    // It has to be there before the clock goes on.
    console.set({ version: `1.4.${step}` });
    await page.getByText(`, 1.4.${step}`).waitFor();
    await page.clock.runFor(STEP_MS);
  }
  console.tell(...Array.from({ length: count }, (_, index) => nodeAt(index, troubleAt(index, count))));
  console.set({ version: '1.4.0' });
  await page.clock.runFor(2000);
}

function nodeAt(index: number, change: Partial<NodeSummary> = {}): NodeSummary {
  const pool = index % 10 < 7 ? 'general' : 'gpu';
  return nodeSummary(`${pool}-${index + 1}`, { pool, ...change });
}

function troubleAt(index: number, count: number): Partial<NodeSummary> {
  if (index === 1) return DOWN;
  if (count < 10) return {};
  const lot = (index * 7919) % 997;
  if (lot < 9) return DOWN;
  if (lot < 14) return { ...DOWN, heldBack: ['ws-daemon'] };
  if (lot < 22) return SILENT;
  if (lot < 34 && index % 10 >= 7) return { agent: 'silent', guard: 'pool gpu' };
  if (lot < 40) return { contested: ['gitpod.io/ws-daemon_ready_ns_default'] };
  return lot < 44 ? UNHEARD : {};
}

function fill(console: PretendConsole): void {
  const names = [...console.nodes.keys()];
  const problem = { reason: 'KeyNotAllowed', message: 'example.com/ebs-ready is outside of the allowed prefixes' };
  console.services.push(serviceDocument('ebs-csi', { origin: 'NodeService', accepted: false, problem }));
  console.plan = [
    ...names.slice(0, 40).map((name) => plannedNode(name, 'example.com/team', 'pool general asks for it')),
    ...names
      .slice(2, 5)
      .map((name) => plannedNode(name, 'gitpod.io/registry-facade_ready_ns_default', 'it hangs', true)),
  ];
  console.entries = names.slice(0, 60).map((name, index) => {
    const since = index === 3 ? { since: new Date(Date.now() - 4000).toISOString() } : {};
    return auditEntry(name, { seconds: (index * 37) % 90, ...since });
  });
}
