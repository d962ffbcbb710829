import { FakeClock } from '@rollcall/common/fake-clock.ts';
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
