import { FakeClock } from '@rollcall/common/fake-clock.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { describe, expect, test } from 'vitest';
import { prepareReportsTls, type ReportsTlsOptions } from './reports-tls.ts';

function prepared(config: Partial<ReportsTlsOptions['config']>) {
  const options = {
    config: { tls: 'auto', reportsListen: '127.0.0.1:0', ...config },
    environment: { ownNamespace: 'rollcall' },
    clock: new FakeClock(),
    signal: new AbortController().signal,
    logger: silentLogger(),
    metrics: { set: () => {} },
  };
  return prepareReportsTls(options as unknown as ReportsTlsOptions);
}

describe('the certificate for reports', () => {
  test('is none where TLS is off, or where no reports are taken', async () => {
    expect(await prepared({ tls: 'off' })).toBeUndefined();
    expect(await prepared({ reportsListen: 'off' })).toBeUndefined();
  });

  test("is the coordinator's own where no files are named, and not there before it was made", async () => {
    expect((await prepared({}))?.certificates.current).toBeUndefined();
  });

  test('is that of the files where they are named, which must be good', async () => {
    const files = { tlsCertFile: '/nowhere/tls.crt', tlsKeyFile: '/nowhere/tls.key' };
    await expect(prepared(files)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});
