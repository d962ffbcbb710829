import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLogger } from '@rollcall/common/logging.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { configured } from '../model/load.test-fixtures.ts';
import { probeChecksOf } from '../model/services.ts';
import { serviceList } from '../state/probe-targets.ts';
import { stage } from '../state/services/service-registry.test-fixtures.ts';
import { createAuthority } from '../tls/certificate-authority.ts';
import type { ReplicaContext } from './replica-context.ts';
import { followRegistryFacadeCa } from './service-registry.ts';

let directory: string;
let file: string;

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'rollcall-ca-'));
  file = path.join(directory, 'ca.crt');
});

afterEach(() => rmSync(directory, { recursive: true }));

const newCa = async () => (await createAuthority({ nowMs: Date.now() })).cert.trim();

async function started(...argv: string[]) {
  const config = await configured(...argv);
  const { serviceRegistry, changes } = stage(config.watchedServices);
  const follow = followRegistryFacadeCa(
    { config, logger: silentLogger() } as unknown as ReplicaContext,
    serviceRegistry,
  );
  follow();
  /** The CA bundles that agents get, by service. */
  const bundles = () => {
    const everywhere = serviceRegistry.services().map((service) => ({ ...service, checks: probeChecksOf(service) }));
    const { services, caBundles = {} } = serviceList(everywhere, []);
    return Object.fromEntries(services.map(({ name, caBundle }) => [name, caBundle && caBundles[caBundle]]));
  };
  return { follow, bundles, changes };
}

test('agents get the CA of registry-facade as its file has it now, each once', async () => {
  const [first, second] = [await newCa(), await newCa()];
  writeFileSync(file, first);
  const { follow, bundles, changes } = await started(`--registry-facade-ca-file=${file}`);
  expect(bundles()).toEqual({ 'registry-facade': first, 'ws-daemon': undefined });
  writeFileSync(file, `# rotated\n${second}\n`);
  for (let time = 0; time < 3; time += 1) follow();
  expect([bundles()['registry-facade'], changes()]).toEqual([second, 2]);
});

test('a CA that becomes unusable or too large stays as it was', async () => {
  const ca = await newCa();
  writeFileSync(file, ca);
  const { follow, bundles, changes } = await started(`--registry-facade-ca-file=${file}`);
  for (const text of ['', 'rubbish', `${ca}\n`.repeat(100)]) {
    writeFileSync(file, text);
    follow();
  }
  rmSync(file);
  follow();
  expect([bundles()['registry-facade'], changes()]).toEqual([ca, 1]);
});

test('a start without a CA that can be used fails, and one without such a file does not verify', async () => {
  const argv = `--registry-facade-ca-file=${file}`;
  await expect(started(argv)).rejects.toMatchObject({ code: 'CERTIFICATE_INVALID' });
  writeFileSync(file, `${await newCa()}\n`.repeat(100));
  await expect(started(argv)).rejects.toMatchObject({ code: 'CERTIFICATE_INVALID' });
  const { bundles, changes } = await started();
  expect([bundles(), changes()]).toEqual([{ 'registry-facade': undefined, 'ws-daemon': undefined }, 0]);
});
