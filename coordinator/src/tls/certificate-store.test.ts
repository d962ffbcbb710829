import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { expect, test } from 'vitest';
import { isIssuedBy, parseBundle, parseCertificate } from './certificate-info.ts';
import { eventually, objectServer, started } from './certificate-store.test-fixtures.ts';

const DAY_MS = 86_400_000;

test('the leader makes an authority and a certificate, and publishes whom to trust', async () => {
  const server = objectServer();
  const { certificates, ended } = started(server, new FakeClock(), () => 10_000);
  await eventually(() => expect(server.find('configmaps')).toBeDefined());
  const leaf = parseCertificate(certificates.current?.cert ?? '');
  const bundle = parseBundle(server.find('configmaps')?.data?.['ca.crt'] ?? '');
  expect(bundle.map((authority) => isIssuedBy(leaf, authority))).toEqual([true]);
  // The Secret is made empty, and then replaced, which only one of several can.
  expect(server.writes).toEqual(['secrets', 'secrets', 'configmaps']);
  await ended();
});

test('a standby writes nothing, serves what is there, and goes on as the leader when it is woken', async () => {
  const server = objectServer();
  const clock = new FakeClock();
  let remainingMs = 0;
  const standby = started(server, clock, () => remainingMs);
  await clock.advance(DAY_MS);
  expect([server.writes, standby.certificates.current]).toEqual([[], undefined]);
  const leader = started(server, clock, () => 10_000);
  await eventually(() => expect(server.writes).toHaveLength(3));
  await clock.advance(3_600_000);
  await eventually(() => expect(standby.certificates.current?.cert).toBe(leader.certificates.current?.cert));
  await leader.ended();
  server.objects.clear();
  remainingMs = 10_000;
  standby.store.wake();
  await eventually(() => expect(server.writes).toHaveLength(6));
  // What is served goes back, as it is still good.
  expect(parseBundle(server.find('configmaps')?.data?.['ca.crt'] ?? '').length).toBeGreaterThan(0);
  await standby.ended();
});

test('a failure is tried again later and later, and the first one after things went well soon', async () => {
  const server = objectServer();
  server.state.broken = true;
  const clock = new FakeClock();
  const { certificates, store, ended } = started(server, clock, () => 10_000);
  await clock.advance(600_000);
  // At most 30 s apart.
  expect(server.state.refusals).toBeGreaterThan(20);
  expect(server.state.refusals).toBeLessThan(60);
  server.state.broken = false;
  await clock.advance(30_000);
  await eventually(() => expect(server.writes).toHaveLength(3));
  expect(certificates.current).toBeDefined();
  await clock.advance(3_600_000);
  server.state.broken = true;
  server.state.refusals = 0;
  store.wake();
  await clock.advance(5000);
  expect(server.state.refusals).toBeGreaterThan(2);
  await ended();
});

test('a certificate is renewed when it is due in sixty days, and not before', async () => {
  const server = objectServer();
  const clock = new FakeClock();
  const { certificates, ended } = started(server, clock, () => 10_000);
  await eventually(() => expect(server.writes).toHaveLength(3));
  const first = certificates.current?.cert;
  // No timer can be set for so long: the clock of the test throws where one is.
  clock.standStill(59 * DAY_MS);
  await clock.advance(7_200_000);
  expect([certificates.current?.cert, server.writes.length]).toEqual([first, 3]);
  clock.standStill(2 * DAY_MS);
  await clock.advance(7_200_000);
  await eventually(() => {
    expect(certificates.current?.cert).not.toBe(first);
    expect(server.writes).toHaveLength(4);
  });
  const authority = parseBundle(server.find('configmaps')?.data?.['ca.crt'] ?? '')[0];
  expect(authority && isIssuedBy(parseCertificate(certificates.current?.cert ?? ''), authority)).toBe(true);
  await ended();
});

const validity = (cert = '') => parseCertificate(cert);

test.each([
  ['ahead', 3 * DAY_MS],
  ['a year behind', -365 * DAY_MS],
])(
  'certificates that were made by a clock that was %s are replaced within seconds of its correction',
  async (_how, offMs) => {
    const server = objectServer();
    const clock = new FakeClock();
    clock.jumpWallClock(offMs);
    const { certificates, ended } = started(server, clock, () => 10_000);
    await eventually(() => expect(server.writes).toHaveLength(3));
    await clock.advance(60_000);
    const wrong = certificates.current?.cert;
    clock.jumpWallClock(-offMs);
    await clock.advance(10_000);
    await eventually(() => expect(certificates.current?.cert).not.toBe(wrong));
    await eventually(() => {
      const authorities = parseBundle(server.find('configmaps')?.data?.['ca.crt'] ?? '');
      const leaf = validity(certificates.current?.cert);
      const issuer = authorities.find((authority) => isIssuedBy(leaf, authority));
      for (const each of [leaf, issuer]) {
        expect(each?.notBeforeMs).toBeLessThanOrEqual(clock.now() - DAY_MS + 60_000);
        expect(each?.notAfterMs).toBeGreaterThan(clock.now() + 80 * DAY_MS);
      }
    });
    await ended();
  },
);

test('a day of validity before they are made covers a clock that is an hour off', async () => {
  const server = objectServer();
  const clock = new FakeClock();
  clock.jumpWallClock(3_600_000);
  const { certificates, ended } = started(server, clock, () => 10_000);
  await eventually(() => expect(server.writes).toHaveLength(3));
  await clock.advance(60_000);
  const { cert } = certificates.current ?? {};
  clock.jumpWallClock(-3_600_000);
  const authority = parseBundle(server.find('configmaps')?.data?.['ca.crt'] ?? '')[0];
  for (const each of [validity(cert), authority]) expect(each?.notBeforeMs).toBeLessThan(clock.now());
  // Only the time of publication, which is in the future, is written anew.
  await clock.advance(60_000);
  await eventually(() => expect(server.writes).toEqual(['secrets', 'secrets', 'configmaps', 'configmaps']));
  expect(certificates.current?.cert).toBe(cert);
  await ended();
});
