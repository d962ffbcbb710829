import { createServer } from 'node:http';
import type { Subject } from '@rollcall/common/guards.ts';
import { closeServer, listen } from '@rollcall/common/http-server.ts';
import { afterEach, expect, test } from 'vitest';
import { BLANK, describeInBrowser } from './in-browser.ts';
import { VIEWS } from './on-page.ts';
import { PretendConsole } from './pretend-console.ts';
import { auditEntry, nodeSummary, plannedNode, serviceDocument } from './pretend-fleet.ts';

const SCRIPT = '<script>window.hurt = 1</script><img src=x onerror="window.hurt=1">';
const RIGHT_TO_LEFT = 'מחשב-7\u202egnp.exe\u2066';
const LONG = `${'a'.repeat(60)}.`.repeat(4) + 'z'.repeat(9);
const EMOJI = '👩‍🚀🔥 tcp 10.0.0.7 said “no” \u0000\u001b[31m\n\t';
const TRICKS = ['__proto__', 'constructor', '../../etc', 'a%2fb', '%E0%A4%A', '"\'>{{7*7}}`', 'x'.repeat(253)];
const NAMES = [SCRIPT, RIGHT_TO_LEFT, LONG, EMOJI, ...TRICKS];

const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

let console: PretendConsole;
afterEach(() => console?.close());

describeInBrowser('names and evidence that mean harm', (open) => {
  test.each(NAMES)('do none: %s', async (name) => {
    const services = { [name]: 'not-ready', 'ws-daemon': 'ready' } as const;
    console = await PretendConsole.start([
      nodeSummary('plain'),
      nodeSummary(name, { pool: name, agentVersion: name, services }),
    ]);
    console.services = [
      serviceDocument(name, {
        checks: [{ name, what: name }],
        accepted: false,
        problem: { reason: name, message: name },
      }),
    ];
    console.plan = [plannedNode(name, name, name)];
    console.entries = [auditEntry(name, { evidence: name, key: name, service: name })];
    console.set({ name, version: name, guards: [{ subject: name as Subject, of: name, nodes: 2 }] });
    console.explain = (document) => ({
      ...document,
      services: document.services.map((service) => ({ ...service, reason: name })),
      keys: document.keys.map((key) => ({ ...key, key: name, value: name, reason: name, onNode: name })),
      workspaces: [name],
      changes: [{ at: name, kind: 'label', key: name, from: name, to: name, reason: name }],
    });
    const page = await open(console.url);
    for (const hash of VIEWS(encodeURIComponent(name), encodeURIComponent(name))) {
      await page.goto(`${console.url}${hash}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await expect.poll(() => page.getByText('Reading').count()).toBe(0);
      expect(await page.evaluate('window.hurt'), hash).toBeUndefined();
      expect(await page.locator('main script, main img, main iframe').count(), hash).toBe(0);
      // The page is as wide as the window, whatever is in it.
      const overflow = () => page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect(await overflow(), hash).toBeLessThanOrEqual(0);
      const text = await page.evaluate<string>("document.getElementById('app').outerHTML");
      expect(text, hash).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
      expect(text, hash).not.toContain('\u001b');
    }
  });

  test('of a page that shows the console in a frame get nothing', async () => {
    console = await PretendConsole.start([nodeSummary('plain')]);
    const watched = await open(BLANK);
    // In a window of its own: what the browser says about the refusal is no fault.
    const page = await (await watched.context().browser()?.newContext())?.newPage();
    await page?.setContent(`<iframe src="${console.url}"></iframe>`);
    const framed = () => page?.frames()[1];
    await expect.poll(() => framed()?.url()).toMatch(/^chrome-error:/);
    expect(await framed()?.content()).not.toContain('rollcall');
    await page?.context().close();
  });

  test('reach no other address from the page, even where they run in it', async () => {
    console = await PretendConsole.start([nodeSummary('plain')]);
    let requests = 0;
    // This server delivers an image, which any page may read.
    const elsewhere = createServer((_request, response) => {
      requests += 1;
      response.writeHead(200, { 'content-type': 'image/gif', 'access-control-allow-origin': '*' }).end(PIXEL);
    });
    const { port } = await listen(elsewhere, { host: '127.0.0.1', port: 0 });
    const url = `http://127.0.0.1:${port}/`;
    const context = await (await open(BLANK)).context().browser()?.newContext();
    const page = await context?.newPage();
    await page?.goto(console.url);
    const answers = await page?.evaluate(`Promise.all([
      fetch('${url}').then(() => 'loaded', () => 'refused'),
      new Promise((resolve) => {
        const image = new Image();
        image.onload = () => resolve('loaded');
        image.onerror = () => resolve('refused');
        image.src = '${url}';
      }),
      new Promise((resolve) => {
        const frame = document.createElement('iframe');
        frame.onload = () => resolve('done');
        frame.src = '${url}';
        document.body.append(frame);
      }),
    ])`);
    expect(answers).toEqual(['refused', 'refused', 'done']);
    expect(requests).toBe(0);
    await context?.close();
    await closeServer(elsewhere, 0);
  });

  test('are shown as they are, with what cannot be seen made visible', async () => {
    console = await PretendConsole.start([nodeSummary(RIGHT_TO_LEFT), nodeSummary(SCRIPT), nodeSummary(EMOJI)]);
    const page = await open(`${console.url}#/node/${encodeURIComponent(RIGHT_TO_LEFT)}`);
    await expect
      .poll(() => page.getByRole('heading', { level: 1 }).innerText())
      .toContain('מחשב-7⟨U+202E⟩gnp.exe⟨U+2066⟩');
    await page.goto(`${console.url}#/node/${encodeURIComponent(SCRIPT)}`);
    await expect.poll(() => page.getByRole('heading', { level: 1 }).innerText()).toContain(SCRIPT);
    await page.goto(`${console.url}#/node/${encodeURIComponent(EMOJI)}`);
    await expect.poll(() => page.getByRole('heading', { level: 1 }).innerText()).toContain('👩‍🚀🔥');
  });
});
