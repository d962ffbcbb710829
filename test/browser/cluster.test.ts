import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedRig, startEmbeddedRig } from '../rig/embedded-rig.ts';
import { httpGet } from '../rig/http-get.ts';
import { describeInBrowser } from './in-browser.ts';
import { colorOfCell, whenCellChanges } from './on-page.ts';

describeInBrowser('the page of a real coordinator', (open) => {
  let embedded: EmbeddedRig;
  beforeAll(async () => {
    embedded = await startEmbeddedRig({ nodes: 3, coordinators: 2 });
    await embedded.rig.allReady(60_000);
  });
  afterAll(() => embedded?.stop());

  test('shows nodes as they appear, and a killed service within half a second, without a reload', async () => {
    const { rig } = embedded;
    const page = await open((await rig.leader()).consoleUrl);
    await page.getByRole('heading', { name: 'All 3 nodes are ready.' }).waitFor();
    const added = await rig.addNode();
    await page.getByRole('heading', { name: 'All 4 nodes are ready.' }).waitFor();
    await page.evaluate('window.notReloaded = true');
    const ready = await colorOfCell(page, 3);
    const changed = whenCellChanges(page, 3, ready);
    const killedMs = Date.now();
    await added.kill('ws-daemon');
    expect((await changed) - killedMs).toBeLessThan(500);
    await page.getByRole('heading', { name: '1 of 4 nodes is not ready.' }).waitFor();
    await page.getByRole('link', { name: added.name }).click();
    const chain = page.getByRole('region', { name: 'Why: ws-daemon' });
    await chain.getByText('ECONNREFUSED').first().waitFor();
    await chain.getByText('does not have the label').waitFor();
    await added.revive('ws-daemon');
    await page.getByText('is as rollcall wants it').waitFor();
    expect(await page.evaluate('notReloaded')).toBe(true);
  });

  test('goes on with the next leader when its own is killed', { timeout: 120_000 }, async () => {
    const { rig } = embedded;
    const leader = await rig.leader();
    const page = await open(leader.consoleUrl);
    await page.getByRole('heading', { name: /All \d nodes are ready/ }).waitFor();
    await rig.endCoordinator(leader, 'SIGKILL');
    await page.getByText('Connection lost.').waitFor();
    // In its place, and not the leader: it asks the leader for what it does not know.
    await rig.addCoordinator();
    const next = await rig.leader();
    await page.getByText(`leader ${next.name}`).waitFor({ timeout: 60_000 });
    await page.getByRole('heading', { name: /^All \d nodes are ready/ }).waitFor({ timeout: 60_000 });
    await rig.node(0).kill('registry-facade');
    await page.getByRole('heading', { name: /^1 of \d nodes is not ready/ }).waitFor();
    await rig.node(0).revive('registry-facade');
    await page.getByRole('heading', { name: /^All \d nodes are ready/ }).waitFor();
  });

  test('comes with a policy that lets nothing in', async () => {
    const { headers } = await httpGet((await embedded.rig.leader()).consoleUrl);
    const policy = String(headers['content-security-policy']);
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; connect-src 'self'/,
    );
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  });
});
