import { FakeClock } from '@rollcall/common/fake-clock.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { expect, test, vi } from 'vitest';
import { type KubeClient, type KubeRequest, KubeStatusError } from '../kube/client.ts';
import { CertificateHolder } from './certificate-holder.ts';
import { isIssuedBy, parseBundle, parseCertificate } from './certificate-info.ts';
import { CertificateStore } from './certificate-store.ts';
import type { DataObject } from './stored-certificates.ts';

const DAY_MS = 86_400_000;

/** Keeps the Secret and the ConfigMap, with the rules of the API server on which the store relies. */
function objectServer() {
  const objects = new Map<string, DataObject>();
  const writes: string[] = [];
  let version = 0;
  const state = { broken: false, refusals: 0 };
  function write(path: string, object: DataObject): DataObject {
    version += 1;
    const metadata = { ...object.metadata, resourceVersion: `${version}` };
    objects.set(path, { ...object, metadata });
    writes.push(path.split('/').at(-2) ?? '');
    return structuredClone(objects.get(path) as DataObject);
  }
  function answer({ method, path, body, query }: KubeRequest): unknown {
    if (query?.['limit'] !== undefined) return { metadata: { resourceVersion: `${version}` }, items: [] };
    const current = objects.get(path);
    if (method === 'PATCH') {
      const { metadata, ...rest } = body as DataObject;
      return write(path, { ...rest, metadata: { ...metadata, uid: 'u' } });
    }
    if (!current) throw new KubeStatusError(404, { reason: 'NotFound' }, undefined, {});
    if (method === 'GET') return structuredClone(current);
    const sent = body as DataObject;
    if (sent.metadata.resourceVersion !== current.metadata.resourceVersion) {
      throw new KubeStatusError(409, { reason: 'Conflict' }, undefined, {});
    }
    return write(path, structuredClone(sent));
  }
  const client: KubeClient = {
    request: async <T>(request: KubeRequest) => {
      if (state.broken) {
        state.refusals += request.path.includes('/secrets/') ? 1 : 0;
        throw new KubeStatusError(500, {}, undefined, {});
      }
      return answer(request) as T;
    },
    stream: ({ signal }) => new Promise((resolve) => signal?.addEventListener('abort', () => resolve())),
    close: () => {},
  };
  const find = (plural: string) => [...objects].find(([path]) => path.includes(`/${plural}/`))?.[1];
  return { client, objects, writes, state, find };
}

function started(server: ReturnType<typeof objectServer>, clock: FakeClock, remainingMs: () => number) {
  const certificates = new CertificateHolder();
  const stop = new AbortController();
  const store = new CertificateStore({
    client: server.client,
    namespace: 'rollcall',
    certificates,
    policy: { names: ['localhost'], propagationMs: 600_000 },
    fence: { remainingMs },
    clock,
    random: () => 0.5,
    signal: stop.signal,
    logger: silentLogger(),
  });
  const running = store.run();
  const ended = async () => {
    stop.abort();
    await running;
  };
  return { certificates, store, ended };
}

/** Keys are made beside the clock. */
function eventually(expectation: () => void): Promise<void> {
  return vi.waitFor(expectation, { timeout: 20_000, interval: 5 });
}

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
