import { type LookupAddress, promises } from 'node:dns';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createLookup } from './host-lookup.ts';
import { type DnsAnswer, TestDnsServer } from './probes/testing/dns-server.ts';

const LIMIT = { timeout: 10_000 };

const V6 = 'fd00:0:0:0:0:0:0:7';

let directory: string;
let server: TestDnsServer | undefined;
let stop: AbortController;

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'rollcall-names-'));
  stop = new AbortController();
});

afterEach(async () => {
  await server?.stop();
  server = undefined;
  rmSync(directory, { recursive: true });
});

async function serve(zone: Record<string, DnsAnswer>, resolvConf = ''): Promise<TestDnsServer> {
  server = await new TestDnsServer(zone).start();
  writeFileSync(path.join(directory, 'resolv.conf'), `nameserver ${server.nameserver}\n${resolvConf}\n`);
  return server;
}

/** What Node.js asks with: all addresses, or the first one. */
function lookup(hostname: string, options: { all?: boolean; family?: number } = { all: true }): Promise<unknown> {
  const files = { hosts: path.join(directory, 'hosts'), resolvConf: path.join(directory, 'resolv.conf') };
  return new Promise((resolve, reject) => {
    createLookup(stop.signal, files)(hostname, { ...options } as { all: true }, (error, address, family) => {
      if (error) reject(error);
      else resolve(options.all ? address : { address, family });
    });
  });
}

describe('the lookup of a host', () => {
  test('returns all addresses, IPv4 first', async () => {
    await serve({ 'coordinator.example': { A: ['192.0.2.1', '192.0.2.2'], AAAA: [V6] } });
    expect(await lookup('coordinator.example')).toEqual([
      { address: expect.stringMatching(/^192\.0\.2\.[12]$/), family: 4 },
      { address: expect.stringMatching(/^192\.0\.2\.[12]$/), family: 4 },
      { address: 'fd00::7', family: 6 },
    ]);
  });

  test('gives one address, or one of a family, where that is asked for', async () => {
    await serve({ 'coordinator.example': { A: ['192.0.2.1'], AAAA: [V6] } });
    expect(await lookup('coordinator.example', {})).toEqual({ address: '192.0.2.1', family: 4 });
    expect(await lookup('coordinator.example', { family: 6 })).toEqual({ address: 'fd00::7', family: 6 });
  });

  test('goes through the search list, past what does not exist, is empty, or fails', async () => {
    const dns = await serve(
      { 'c.rollcall.svc.b': {}, 'c.rollcall.svc.c': 'servfail', 'c.rollcall.svc.d': { A: ['192.0.2.9'] } },
      'search a b c d e\noptions ndots:5',
    );
    expect(await lookup('c.rollcall.svc')).toEqual([{ address: '192.0.2.9', family: 4 }]);
    expect(dns.asked.filter((question) => question.startsWith('A '))).toEqual(
      expect.arrayContaining(['a', 'b', 'c', 'd'].map((domain) => `A c.rollcall.svc.${domain}`)),
    );
    expect(dns.asked.join()).not.toContain('c.rollcall.svc.e');
  });

  test('asks the servers of either family that resolv.conf names, past what is no address', async () => {
    const setServers = vi.spyOn(promises.Resolver.prototype, 'setServers');
    onTestFinished(() => setServers.mockRestore());
    const dns = await serve({ 'c.example': { A: ['192.0.2.9'] } }, 'nameserver dns.example\nnameserver fd00::53');
    expect(await lookup('c.example')).toEqual([{ address: '192.0.2.9', family: 4 }]);
    expect(setServers).toHaveBeenCalledWith([dns.nameserver, 'fd00::53']);
  });

  test('says which name cannot be resolved, and how', async () => {
    await serve({}, 'search a');
    await expect(lookup('missing')).rejects.toMatchObject({
      code: 'ENOTFOUND',
      message: 'Cannot resolve missing: ENOTFOUND',
    });
  });

  // Waiting for a query that a server drops would take minutes.
  test.each<[string, DnsAnswer, LookupAddress[]]>([
    ['AAAA', { A: ['192.0.2.1'], AAAA: 'silence' }, [{ address: '192.0.2.1', family: 4 }]],
    ['A', { A: 'silence', AAAA: [V6] }, [{ address: 'fd00::7', family: 6 }]],
  ])('does not wait for the answer that a server drops: %s', LIMIT, async (_, answer, addresses) => {
    await serve({ 'c.example': answer }, 'options timeout:30 attempts:5');
    expect(await lookup('c.example')).toEqual(addresses);
    expect(await lookup('c.example', {})).toEqual(addresses[0]);
  });

  test.each(['A', 'AAAA'] as const)(
    'goes on in the search list where a server drops all queries for %s',
    LIMIT,
    async (type) => {
      const other = type === 'A' ? 'AAAA' : 'A';
      const address = other === 'A' ? '192.0.2.1' : V6;
      const missing: DnsAnswer = { [type]: 'silence', [other]: 'nxdomain' };
      await serve(
        {
          'c.rollcall.svc.a': missing,
          'c.rollcall.svc.b': missing,
          'c.rollcall.svc.c': { ...missing, [other]: [address] },
        },
        'search a b c d\noptions ndots:5 timeout:30 attempts:5',
      );
      expect(await lookup('c.rollcall.svc')).toHaveLength(1);
    },
  );

  test.each<[DnsAnswer, number]>([
    [{ A: ['192.0.2.1'], AAAA: 'nxdomain' }, 4],
    [{ A: 'nxdomain', AAAA: [V6] }, 6],
    [{ A: ['192.0.2.1'], AAAA: 'servfail' }, 4],
    [{ A: 'servfail', AAAA: [V6] }, 6],
    [{ A: [], AAAA: [V6] }, 6],
  ])('takes the family that has an address, whatever the other answers: %j', async (answer, family) => {
    await serve({ 'c.example': answer });
    expect(await lookup('c.example')).toEqual([{ address: expect.any(String), family }]);
  });

  test('waits for the other family where one has no address, and only then goes on', async () => {
    const dns = await serve(
      { 'c.a': { A: [], AAAA: 'silence' }, 'c.b': { A: ['192.0.2.1'] } },
      'search a b\noptions attempts:1',
    );
    await expect(lookup('c')).rejects.toMatchObject({ code: 'ETIMEOUT' });
    expect(dns.asked.join()).not.toContain('c.b');
  });

  test('does not repeat a query whose answer is no longer waited for', LIMIT, async () => {
    const dns = await serve({ 'c.example': { A: ['192.0.2.1'], AAAA: 'silence' } }, 'options timeout:1 attempts:5');
    await lookup('c.example');
    const asked = [...dns.asked];
    await sleep(2500);
    expect(dns.asked).toEqual(asked);
  });

  test('asks for nothing else once a server does not answer', async () => {
    const dns = await serve({ 'c.a': 'silence', 'c.b': { A: ['192.0.2.1'] } }, 'search a b\noptions attempts:1');
    await expect(lookup('c')).rejects.toMatchObject({ code: 'ETIMEOUT' });
    expect(dns.asked.join()).not.toContain('c.b');
  });

  test('ends at once when it is aborted', async () => {
    const dns = await serve({ 'c.example': 'silence' }, 'options timeout:30');
    const found = lookup('c.example');
    await vi.waitFor(() => expect(dns.asked).not.toEqual([]), LIMIT);
    const startMs = performance.now();
    stop.abort();
    await expect(found).rejects.toMatchObject({ code: 'ECANCELLED' });
    expect(performance.now() - startMs).toBeLessThan(1000);
    await expect(lookup('c.example')).rejects.toThrow();
  });

  test('prefers the hosts file, and asks no server for a name in it', async () => {
    const dns = await serve({ alias: { A: ['192.0.2.1'] } });
    writeFileSync(path.join(directory, 'hosts'), '# by the kubelet\n10.0.0.1\tHost Alias # both\nnonsense alias\n');
    expect(await lookup('alias')).toEqual([{ address: '10.0.0.1', family: 4 }]);
    expect(dns.asked).toEqual([]);
    expect(await lookup('localhost')).toEqual([
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ]);
  });
});
