import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@rollcall/common/logging.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { describe, expect, test } from 'vitest';
import { LeaderRequests } from '../kube/leader-requests.ts';
import { createAuthority, issueLeaf } from './certificate-authority.ts';
import { parseCertificate } from './certificate-info.ts';
import { eventually, objectServer } from './certificate-store.test-fixtures.ts';
import { prepareReportsTls, type ReportsTlsOptions } from './reports-tls.ts';

function prepared(config: Partial<ReportsTlsOptions['config']>, change: Partial<ReportsTlsOptions> = {}) {
  const options = {
    config: { tls: 'auto', agents: true, reportsListen: '127.0.0.1:0', ...config },
    environment: { ownNamespace: 'rollcall' },
    clock: new FakeClock(),
    signal: new AbortController().signal,
    logger: silentLogger(),
    metrics: { set: () => {} },
    ...change,
  };
  return prepareReportsTls(options as unknown as ReportsTlsOptions);
}

describe('the certificate for reports', () => {
  test('is none where TLS is off, or where no reports are taken', async () => {
    expect(await prepared({ tls: 'off' })).toBeUndefined();
    expect(await prepared({ reportsListen: 'off' })).toBeUndefined();
    expect(await prepared({ agents: false })).toBeUndefined();
  });

  test("is the coordinator's own where no files are named, and not there before it was made", async () => {
    expect((await prepared({}))?.certificates.current).toBeUndefined();
  });

  test('is made for every name by which agents call the coordinator', async () => {
    const stop = new AbortController();
    const { client } = objectServer();
    let remainingMs = 0;
    const { signal } = stop;
    const requests = new LeaderRequests({ client, fence: { remainingMs: () => remainingMs }, signal });
    const change = { client, requests, random: () => 0, signal };
    const tls = await prepared({}, change);
    const ended = tls?.run();
    remainingMs = 10_000;
    tls?.lead();
    await eventually(() => expect(tls?.certificates.current).toBeDefined());
    const service = 'rollcall-coordinator';
    expect(parseCertificate(tls?.certificates.current?.cert ?? '').names).toEqual([
      service,
      `${service}.rollcall`,
      `${service}.rollcall.svc`,
      `${service}.rollcall.svc.cluster.local`,
      ...['localhost', '127.0.0.1', '::1'],
    ]);
    stop.abort();
    await ended;
  });

  test('is read from the files that are named, and followed until the end', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'rollcall-reports-tls-'));
    const nowMs = Date.now();
    const { cert, key } = await issueLeaf(await createAuthority({ nowMs }), { names: ['localhost'], nowMs });
    const files = { tlsCertFile: join(dir, 'tls.crt'), tlsKeyFile: join(dir, 'tls.key') };
    await Promise.all([writeFile(files.tlsCertFile, cert), writeFile(files.tlsKeyFile, key)]);
    const stop = new AbortController();
    const tls = await prepared(files, { signal: stop.signal });
    expect(tls?.certificates.current).toEqual({ cert, key });
    tls?.lead();
    const ended = tls?.run();
    stop.abort();
    await ended;
    await rm(dir, { recursive: true });
  });

  test('comes from the files where they are configured, which must be valid', async () => {
    const files = { tlsCertFile: '/nowhere/tls.crt', tlsKeyFile: '/nowhere/tls.key' };
    await expect(prepared(files)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    const [named, other] = [{ tlsCertFile: '/nowhere/tls.crt' }, { tlsKeyFile: '/nowhere/tls.key' }];
    for (const half of [named, other]) expect((await prepared(half))?.certificates.current).toBeUndefined();
  });
});
