import { mkdtemp, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from '@rollcall/common/metrics.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { type Logger, pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createAuthority, issueLeaf } from './certificate-authority.ts';
import { CertificateHolder, type KeyPair } from './certificate-holder.ts';
import { parseCertificate } from './certificate-info.ts';
import { FileCertificates } from './file-certificates.ts';
import { CertificateMetrics } from './metrics.ts';

let dir: string;
let certFile: string;
let keyFile: string;
let authority: KeyPair;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'rollcall-certificates-'));
  certFile = join(dir, 'tls.crt');
  keyFile = join(dir, 'tls.key');
  authority ??= await createAuthority({ nowMs: Date.now() });
});

afterEach(() => rm(dir, { recursive: true, force: true }));

function newPair(): Promise<KeyPair> {
  return issueLeaf(authority, { names: ['localhost'], nowMs: Date.now() });
}

async function write({ cert, key }: KeyPair): Promise<void> {
  await writeFile(certFile, cert);
  await writeFile(keyFile, key);
}

function setUp() {
  const clock = new FakeClock();
  const certificates = new CertificateHolder();
  const registry = new Registry();
  const lines: { level: string; msg: string; err?: { message: string; code: string } }[] = [];
  const logger: Logger = pino(
    { formatters: { level: (level) => ({ level }) }, errorKey: 'err' },
    { write: (line: string) => lines.push(JSON.parse(line)) },
  );
  const metrics = new CertificateMetrics(registry);
  const files = new FileCertificates({ certFile, keyFile, certificates, clock, logger, metrics });
  return { clock, certificates, registry, lines, files };
}

/** Files with the first of two pairs, which are looked at until the end. */
async function watching() {
  const [first, second] = [await newPair(), await newPair()];
  await write(first);
  const { files, clock, certificates, lines } = setUp();
  await files.load();
  const stop = new AbortController();
  const running = files.run(stop.signal);
  const end = async () => {
    stop.abort();
    await running;
  };
  return { first, second, clock, certificates, lines, end };
}

/** Moves the clock past a look at the files, and past the pause in which a change may settle. */
async function look(clock: FakeClock, check: () => void): Promise<void> {
  // Files are read for real: it takes some turns of the event loop.
  await vi.waitFor(async () => {
    await clock.advance(11_000);
    check();
  });
}

describe('FileCertificates', () => {
  it('serves what the files hold', async () => {
    const pair = await newPair();
    await write(pair);
    const { files, certificates, registry } = setUp();
    await files.load();
    expect(certificates.current).toEqual(pair);
    const expiry = Math.floor(parseCertificate(pair.cert).notAfterMs / 1000);
    expect(await registry.metrics()).toContain(
      `rollcall_coordinator_certificate_expiry_timestamp_seconds{certificate="leaf"} ${expiry}`,
    );
  });

  it.each([
    ['there is no certificate', '--tls-cert-file', async () => unlink(certFile)],
    ['there is no key', '--tls-key-file', async () => unlink(keyFile)],
    ['the certificate is none', '--tls-cert-file', async () => writeFile(certFile, 'nonsense')],
    ['the key is none', '--tls-key-file', async () => writeFile(keyFile, 'nonsense')],
    ['the key is of another certificate', '--tls-key-file', async () => writeFile(keyFile, (await newPair()).key)],
  ])('is a configuration error when %s, and names the flag', async (_what, flag, spoil) => {
    await write(await newPair());
    await spoil();
    const { files } = setUp();
    await expect(files.load()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(
        new RegExp(`^${flag}: ${flag === '--tls-key-file' ? keyFile : certFile} [^\\n]+$`),
      ),
      fields: { field: flag },
    });
  });

  it('takes a new pair, also when a link is swapped', async () => {
    const [first, second] = [await newPair(), await newPair()];
    for (const [name, pair] of Object.entries({ first, second })) {
      await writeFile(join(dir, `${name}.crt`), pair.cert);
      await writeFile(join(dir, `${name}.key`), pair.key);
    }
    const link = async (name: string) => {
      for (const [file, target] of [
        [certFile, `${name}.crt`],
        [keyFile, `${name}.key`],
      ] as const) {
        await rm(file, { force: true });
        await symlink(join(dir, target), file);
      }
    };
    await link('first');
    const { files, clock, certificates, lines } = setUp();
    await files.load();
    // Before the next look, which may otherwise find half of a pair and log it.
    await link('second');
    const stop = new AbortController();
    const running = files.run(stop.signal);
    await look(clock, () => expect(certificates.current).toEqual(second));
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([['info', 'Changed to a new certificate']]);
    stop.abort();
    await running;
  });

  it('keeps the last good pair when the files are broken, logs that once for each change, and recovers', async () => {
    const { first, second, clock, certificates, lines, end } = await watching();
    const errors = () => lines.filter(({ level }) => level === 'error');
    await writeFile(certFile, second.cert);
    await look(clock, () => expect(errors()).toHaveLength(1));
    expect(errors()[0]?.err).toMatchObject({
      code: 'CERTIFICATE_INVALID',
      message: `${keyFile} does not belong to the certificate`,
    });
    expect(certificates.current).toEqual(first);
    await writeFile(certFile, 'nonsense');
    await look(clock, () => expect(errors()).toHaveLength(2));
    await unlink(certFile);
    await look(clock, () => expect(errors()).toHaveLength(3));
    await write(second);
    await look(clock, () => expect(certificates.current).toEqual(second));
    // Each broken state was looked at more than once by now, or will never be again.
    expect(errors()).toHaveLength(3);
    await unlink(certFile);
    await look(clock, () => expect(errors()).toHaveLength(4));
    await end();
  });

  it('says nothing of a pair of which one half came a moment later', async () => {
    const { second, clock, certificates, lines, end } = await watching();
    await writeFile(certFile, second.cert);
    await clock.advance(10_000);
    // It has read the first half, and waits.
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(1));
    await writeFile(keyFile, second.key);
    await vi.waitFor(async () => {
      await clock.advance(1000);
      expect(certificates.current).toEqual(second);
    });
    expect(lines.map(({ msg }) => msg)).toEqual(['Changed to a new certificate']);
    await end();
  });
});
