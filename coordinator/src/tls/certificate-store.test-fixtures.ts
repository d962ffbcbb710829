import type { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { type Logger, pino } from 'pino';
import { vi } from 'vitest';
import { type KubeClient, type KubeRequest, KubeStatusError } from '../kube/client.ts';
import { LeaderRequests } from '../kube/leader-requests.ts';
import { CertificateHolder } from './certificate-holder.ts';
import { CertificateStore } from './certificate-store.ts';
import type { DataObject } from './stored-certificates.ts';

/** Keeps the Secret and the ConfigMap, with the rules of the API server on which the store relies. */
export function objectServer() {
  const objects = new Map<string, DataObject>();
  const writes: string[] = [];
  const requests: KubeRequest[] = [];
  /** What was asked for with each watch, and the way to tell it of something. */
  const watches: { request: Parameters<KubeClient['stream']>[0]; tell: (event: unknown) => void }[] = [];
  let version = 0;
  const state = {
    broken: false,
    refusals: 0,
    /** What a write comes to instead of what it asks for. */
    instead: (_path: string): void => {},
  };
  /** Watches see every change, whoever made it. */
  function announce(type: 'ADDED' | 'MODIFIED' | 'DELETED', path: string, object: DataObject | undefined): void {
    for (const { request, tell } of watches) {
      if (request.signal?.aborted || !path.startsWith(`${request.path}/`)) continue;
      queueMicrotask(() => tell({ type, object: { metadata: { name: 'x', uid: 'u', ...object?.metadata } } }));
    }
  }
  function write(path: string, object: DataObject): DataObject {
    version += 1;
    const metadata = { ...object.metadata, resourceVersion: `${version}` };
    announce(objects.has(path) ? 'MODIFIED' : 'ADDED', path, { ...object, metadata });
    objects.set(path, { ...object, metadata });
    writes.push(path.split('/').at(-2) ?? '');
    const written = structuredClone(objects.get(path) as DataObject);
    state.instead(path);
    return written;
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
      requests.push(request);
      if (state.broken) {
        state.refusals += request.path.includes('/secrets/') ? 1 : 0;
        throw new KubeStatusError(500, {}, undefined, {});
      }
      return answer(request) as T;
    },
    stream: (request, tell) => {
      watches.push({ request, tell });
      return new Promise((resolve) => request.signal?.addEventListener('abort', () => resolve()));
    },
    close: () => {},
  };
  const entry = (plural: string) => [...objects].find(([path]) => path.includes(`/${plural}/`));
  const find = (plural: string) => entry(plural)?.[1];
  /** Another client changes an object. */
  const change = (plural: string, to: (object: DataObject) => DataObject) => {
    const [path, object] = entry(plural) ?? [];
    if (!path || !object) throw new Error(`There is no object among the ${plural}`);
    version += 1;
    const changed = to(structuredClone(object));
    const metadata = { ...changed.metadata, resourceVersion: `${version}` };
    objects.set(path, { ...changed, metadata });
    announce('MODIFIED', path, { ...changed, metadata });
  };
  const remove = (plural: string) => {
    const [path = '', object] = entry(plural) ?? [];
    if (objects.delete(path)) announce('DELETED', path, object);
  };
  return { client, objects, writes, requests, watches, state, find, change, remove };
}

type LogLine = { level: string; msg: string; err?: { message: string; code: string } };

/** A store of the namespace `rollcall` that runs. */
export function started(server: ReturnType<typeof objectServer>, clock: FakeClock, remainingMs: () => number) {
  const certificates = new CertificateHolder();
  const stop = new AbortController();
  const lines: LogLine[] = [];
  const logger: Logger = pino(
    { formatters: { level: (level) => ({ level }) }, errorKey: 'err' },
    { write: (line: string) => lines.push(JSON.parse(line)) },
  );
  const expiry: Record<string, number> = {};
  const metrics = {
    set: (certificate: string, expiresAtMs: number) => {
      expiry[certificate] = expiresAtMs;
    },
  };
  const store = new CertificateStore({
    client: server.client,
    namespace: 'rollcall',
    certificates,
    policy: { names: ['localhost'], propagationMs: 600_000 },
    requests: new LeaderRequests({ client: server.client, fence: { remainingMs }, signal: stop.signal }),
    clock,
    random: () => 0.5,
    signal: stop.signal,
    logger,
    metrics: metrics as never,
  });
  const running = store.run();
  const ended = async () => {
    stop.abort();
    await running;
  };
  return { certificates, store, ended, lines, expiry };
}

/** Keys are made beside the clock. */
export function eventually(expectation: () => void): Promise<void> {
  return vi.waitFor(expectation, { timeout: 20_000, interval: 5 });
}
