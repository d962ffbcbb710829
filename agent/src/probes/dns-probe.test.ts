import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openLineFor } from './testing/ask-once.ts';
import { type DnsAnswer, TestDnsServer } from './testing/dns-server.ts';
import { within } from './testing/limits.ts';
import { temporaryDirectory } from './testing/local-files.ts';

const NAME = 'kubernetes.default.svc.cluster.local';

/** Asks once, by a DNS server with this zone. */
async function ask(zone: Record<string, DnsAnswer>, settings: { name?: string } = {}, limitMs = 5000) {
  const server = await new TestDnsServer(zone).start();
  onTestFinished(() => server.stop());
  return askBy(server.nameserver, settings, limitMs);
}

async function askBy(nameserver: string, settings: { name?: string }, limitMs: number) {
  const resolvConf = path.join(temporaryDirectory(), 'resolv.conf');
  const search = 'search default.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5';
  writeFileSync(resolvConf, `nameserver ${nameserver}\n${search}\n`);
  const line = openLineFor({ kind: 'dns', ...settings }, { resolvConf })(() => {});
  const { verdict, evidence } = await line.ask(
    { name: settings.name ?? 'kubernetes.default.svc' },
    within(limitMs),
    true,
  );
  return `${verdict}: ${evidence}`;
}

test('is healthy where the name of the API server has an address in a domain of the search list', async () => {
  expect(await ask({ [NAME]: { A: ['10.96.0.1'] } })).toBe('healthy: dns kubernetes.default.svc was resolved');
  expect(await ask({ [NAME]: { AAAA: ['fd00:0:0:0:0:0:0:1'] } })).toMatch(/^healthy/);
});

test('asks for a name that is given', async () => {
  expect(await ask({ 'db.example': { A: ['192.0.2.1'] } }, { name: 'db.example' })).toBe(
    'healthy: dns db.example was resolved',
  );
});

test('is soft where the name does not exist, or the server fails', async () => {
  expect(await ask({})).toBe('soft: dns kubernetes.default.svc was not resolved (ENOTFOUND)');
  const failing = { 'db.example': 'servfail' } as const;
  expect(await ask(failing, { name: 'db.example.' })).toBe('soft: dns db.example. was not resolved (ESERVFAIL)');
});

test('is soft where no server listens: that proves nothing of the name', async () => {
  expect(await askBy('127.0.0.1:1', {}, 5000)).toBe('soft: dns kubernetes.default.svc was not resolved (ECONNREFUSED)');
});

test('ends with its time where no server answers', async () => {
  expect(await ask({ [NAME]: 'silence' }, {}, 300)).toBe(
    'soft: dns kubernetes.default.svc did not answer within 300 ms',
  );
});

test.each(['', 'a..b', '-a', 'a b', 'x'.repeat(254), 7])('is refused with a name that is none: %j', (name) => {
  expect(() => openLineFor({ kind: 'dns', name })).toThrow('its name is not valid');
});
