import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { expect, test } from 'vitest';
import { createAuthority, issueLeaf } from './certificate-authority.ts';
import { isIssuedBy, parseBundle, parseCertificate } from './certificate-info.ts';
import { eventually, objectServer, started } from './certificate-store.test-fixtures.ts';
import { readSecret, writeSecret } from './stored-certificates.ts';

/** How the store of a leader, or of a standby, lives with others and with what is damaged. */

const LEADING = () => 10_000;

/** A store that has made its certificates, and rests. */
async function settled(remainingMs: () => number = LEADING) {
  const server = objectServer();
  const clock = new FakeClock();
  const first = started(server, clock, LEADING);
  await eventually(() => expect(server.find('configmaps')).toBeDefined());
  await clock.advance(0);
  if (remainingMs === LEADING) return { server, clock, ...first };
  await first.ended();
  const standby = started(server, clock, remainingMs);
  await clock.advance(0);
  return { server, clock, ...standby };
}

const errors = (lines: readonly { level: string; err?: { message: string } }[]) =>
  lines.filter(({ level }) => level === 'error').map(({ err }) => err?.message);

test('only the metadata of the two objects is watched, each by its name, and a change is looked at once', async () => {
  const { server, clock, ended } = await settled(() => 0);
  const watches = server.watches.slice(-2);
  expect(watches.map(({ request }) => [request.path, request.query?.['fieldSelector']])).toEqual([
    ['/api/v1/namespaces/rollcall/secrets', 'metadata.name=rollcall-coordinator-tls'],
    ['/api/v1/namespaces/rollcall/configmaps', 'metadata.name=rollcall-coordinator-ca'],
  ]);
  for (const { request, tell } of watches) {
    expect(request.accept).toContain('PartialObjectMetadata');
    for (const type of ['MODIFIED', 'DELETED']) {
      const before = server.requests.length;
      tell({ type, object: { metadata: { name: 'x', uid: 'u', resourceVersion: '9' } } });
      await clock.advance(0);
      expect(server.requests.slice(before).map(({ method }) => method)).toEqual(['GET']);
    }
  }
  await ended();
});

test('each certificate is told with the time at which it expires', async () => {
  const { server, certificates, expiry, ended } = await settled();
  const { stored } = readSecret(server.find('secrets'));
  expect(expiry).toEqual({
    ca: parseCertificate(stored.authority?.cert ?? '').notAfterMs,
    leaf: parseCertificate(certificates.current?.cert ?? '').notAfterMs,
  });
  // The whole chain is available.
  expect(certificates.current).toEqual({ ...stored.leaf, authority: stored.authority?.cert });
  await ended();
});

test('what is wrong with the Secret is said once, by its key, and put right by the leader alone', async () => {
  let remainingMs = 0;
  const { server, clock, store, certificates, lines, ended } = await settled(() => remainingMs);
  const served = certificates.current;
  server.change('secrets', (secret) => ({ ...secret, data: { ...secret.data, 'tls.crt': 'bm9uc2Vuc2U=' } }));
  for (let look = 0; look < 2; look += 1) {
    store.wake();
    await clock.advance(0);
  }
  expect(errors(lines)).toEqual([
    'The Secret rollcall-coordinator-tls cannot be used: tls.crt is not a certificate in PEM',
  ]);
  expect(certificates.current).toBe(served);
  const before = server.writes.length;
  remainingMs = 10_000;
  store.wake();
  await eventually(() => expect(server.writes.slice(before)).toEqual(['secrets']));
  await eventually(() => expect(certificates.current?.cert).not.toBe(served?.cert));
  expect(certificates.current?.authority).toBe(served?.authority);
  await ended();
});

test('a Secret that was never there is no damage, and one that was deleted is', async () => {
  const server = objectServer();
  const clock = new FakeClock();
  const { store, lines, ended } = started(server, clock, () => 0);
  await clock.advance(0);
  expect(errors(lines)).toEqual([]);
  const leader = started(server, clock, LEADING);
  await eventually(() => expect(server.find('configmaps')).toBeDefined());
  await leader.ended();
  store.wake();
  await clock.advance(0);
  expect(errors(lines)).toEqual([]);
  server.remove('secrets');
  store.wake();
  await clock.advance(0);
  expect(errors(lines)).toEqual(['The Secret rollcall-coordinator-tls cannot be used: it was deleted']);
  await ended();
});

test('an expired certificate in the Secret does not replace the one that is served', async () => {
  const { server, clock, store, certificates, ended } = await settled(() => 0);
  const served = certificates.current;
  const authority = await createAuthority({ nowMs: clock.now() });
  const yearsAgoMs = clock.now() - 2 * 365 * 86_400_000;
  const leaf = await issueLeaf(authority, { names: ['localhost'], nowMs: yearsAgoMs });
  const put = (stored: Parameters<typeof writeSecret>[1]) => {
    server.change('secrets', (secret) => writeSecret(secret, stored));
    store.wake();
    return clock.advance(0);
  };
  await put({ leaf, authority, previous: [] });
  expect(certificates.current).toBe(served);
  const good = await issueLeaf(authority, { names: ['localhost'], nowMs: clock.now() });
  await put({ leaf: good, authority, previous: [] });
  expect(certificates.current?.cert).toBe(good.cert);
  await ended();
});

test('what is served is published again where both objects are gone, so that it stays trusted', async () => {
  const { server, clock, store, certificates, ended } = await settled();
  const leaf = parseCertificate(certificates.current?.cert ?? '');
  const before = server.writes.length;
  server.objects.clear();
  store.wake();
  await eventually(() => expect(server.writes.length).toBeGreaterThan(before + 2));
  const bundle = parseBundle(server.find('configmaps')?.data?.['ca.crt'] ?? '');
  expect(bundle.some((authority) => isIssuedBy(leaf, authority))).toBe(true);
  await clock.advance(0);
  expect(certificates.current?.cert.trim()).toBe(leaf.pem.trim());
  await ended();
});

test('a write begins only while this replica leads, and ends before it may not any more', async () => {
  const server = objectServer();
  const clock = new FakeClock();
  const left = [10_000, 0];
  const lost = started(server, clock, () => left.shift() ?? 0);
  await eventually(() => expect(left).toEqual([]));
  await clock.advance(60_000);
  expect(server.writes).toEqual([]);
  // That another leads is no failure.
  expect(lost.lines).toEqual([]);
  await lost.ended();
  for (const [remainingMs, timeoutMs] of [
    [1200, 1200],
    [90_000, 5000],
  ] as const) {
    server.requests.length = 0;
    server.objects.clear();
    const { ended } = started(server, clock, () => remainingMs);
    await eventually(() => expect(server.find('configmaps')).toBeDefined());
    const written = server.requests.filter(({ method }) => method !== 'GET');
    expect(new Set(written.map((request) => request.timeoutMs))).toEqual(new Set([timeoutMs]));
    const read = server.requests.filter(({ method, query }) => method === 'GET' && !query);
    expect(new Set(read.map((request) => request.timeoutMs))).toEqual(new Set([5000]));
    await ended();
  }
});

test.each([
  ['at once', async (_clock: FakeClock, deed: () => void) => deed()],
  ['a moment later', (clock: FakeClock, deed: () => void) => void clock.after(20, deed)],
])(
  'another client that undoes each step %s causes twelve steps, and then one in half a minute',
  async (_when, undo) => {
    const { server, clock, lines, ended } = await settled();
    const spoil = () =>
      server.change('configmaps', (configMap) => ({ ...configMap, data: { 'ca.crt': '', note: 'mine' } }));
    server.state.instead = () => void undo(clock, spoil);
    const made = server.writes.length;
    spoil();
    for (let passed = 0; passed < 28_000; passed += 20) await clock.advance(20);
    expect(server.writes.slice(made).length).toBeGreaterThanOrEqual(9);
    expect(server.writes.slice(made).length).toBeLessThanOrEqual(12);
    expect(lines.at(-1)).toMatchObject({
      level: 'warn',
      msg: 'Paused, because another writer keeps changing the certificates',
    });
    const before = server.writes.length;
    for (let passed = 0; passed < 60_000; passed += 20) await clock.advance(20);
    expect(server.writes.length - before).toBeGreaterThanOrEqual(1);
    expect(server.writes.length - before).toBeLessThanOrEqual(3);
    await ended();
  },
);

test('a store whose certificate cannot be served, whatever it writes, makes a few authorities and no more', async () => {
  const server = objectServer();
  const clock = new FakeClock();
  const { certificates, ended } = started(server, clock, LEADING);
  certificates.onChange(() => {
    throw new Error('no server takes it');
  });
  server.state.instead = (path) => void (path.includes('/secrets/') && clock.after(10, () => server.remove('secrets')));
  for (let passed = 0; passed < 28_000; passed += 50) {
    await clock.advance(50);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(server.writes.filter((plural) => plural === 'secrets').length).toBeLessThanOrEqual(26);
  await ended();
}, 60_000);

test('an earlier write by another client is no failure: its result is read within a second', async () => {
  const { server, clock, store, lines, ended } = await settled();
  const { request } = server.client;
  let isBeaten = true;
  server.client.request = (asked) => {
    if (asked.method === 'PUT' && isBeaten) {
      isBeaten = false;
      server.change('configmaps', (configMap) => configMap);
    }
    return request(asked);
  };
  const before = server.writes.length;
  server.change('configmaps', (configMap) => ({ ...configMap, data: { 'ca.crt': '' } }));
  store.wake();
  await clock.advance(0);
  expect(server.writes.length).toBe(before);
  await clock.advance(1000);
  expect(server.writes.length).toBe(before + 1);
  expect(lines.filter(({ level }) => level !== 'info')).toEqual([]);
  await ended();
});

test('a failure that lasts is told once, and that it is over', async () => {
  const { server, clock, store, lines, ended } = await settled(() => 0);
  lines.length = 0;
  const told = () => lines.map(({ msg }) => msg).filter((msg) => msg.includes('certificates'));
  server.state.broken = true;
  for (let round = 0; round < 2; round += 1) {
    store.wake();
    await clock.advance(60_000);
  }
  expect(told()).toEqual(['Failed to look after certificates']);
  server.state.broken = false;
  await clock.advance(60_000);
  store.wake();
  await clock.advance(60_000);
  expect(told()).toEqual(['Failed to look after certificates', 'Recovered the care for certificates']);
  await ended();
});

test('a store that is ended keeps no timer', async () => {
  const { clock, ended } = await settled();
  await ended();
  expect(clock.pendingTimers).toBe(0);
});

test('what changes while the objects are looked at is looked at once more', async () => {
  const { server, clock, store, ended } = await settled(() => 0);
  const { request } = server.client;
  const before = server.requests.length;
  let isFirst = true;
  server.client.request = (asked) => {
    if (isFirst) store.wake();
    isFirst = false;
    return request(asked);
  };
  store.wake();
  await clock.advance(0);
  expect(server.requests.length - before).toBe(2);
  await ended();
});

test('a store that is ended while it looks does not sleep any more', async () => {
  const { server, clock, store, ended } = await settled(() => 0);
  const { request } = server.client;
  let ending: Promise<void> | undefined;
  server.client.request = (asked) => {
    ending ??= ended();
    return request(asked);
  };
  store.wake();
  await clock.advance(0);
  await ending;
  expect(clock.pendingTimers).toBe(0);
});
