import { describe, expect, test } from 'vitest';
import { loadConfig } from './config.ts';

const HEAD = 'apiVersion: rollcall.dev/v1alpha1\nkind: AgentConfiguration\nservices:\n';
/** So that the file of the service account is not looked for. */
const ENV = { POD_NAMESPACE: 'rollcall' };
const TIMING = { periodMs: 1000, timeoutMs: 1000, failureThreshold: 3, successThreshold: 1 };

function load(entries: string, argv: string[] = []) {
  const sources = { argv: ['--node-name=n', '--config=/c', ...argv], env: ENV, readFile: () => `${HEAD}${entries}` };
  return loadConfig(sources);
}

async function services(entries: string, argv: string[] = []) {
  const loaded = await load(entries, argv);
  return loaded.action === 'run' ? loaded.values.watchedServices : [];
}

describe('services in the configuration file', () => {
  test('come after those of Gitpod, with what flags and defaults say', async () => {
    const argv = ['--probe-period-ms=500', '--failure-threshold=7'];
    const timing = { ...TIMING, periodMs: 500, failureThreshold: 7 };
    expect(await services('- {name: cache, port: 9000}\n- {name: b, port: 1, probe: http2}', argv)).toEqual([
      { name: 'ws-daemon', port: 8080, probe: 'tcp', ...timing },
      { name: 'registry-facade', port: 31750, ...timing },
      { name: 'cache', port: 9000, probe: 'tcp', ...timing },
      { name: 'b', port: 1, probe: 'http2', ...timing },
    ]);
  });

  test('have times and thresholds of their own', async () => {
    const own = { periodMs: 20, timeoutMs: 30, failureThreshold: 4, successThreshold: 5 };
    expect((await services(`- ${JSON.stringify({ name: 'cache', port: 1, ...own })}`))[2]).toMatchObject(own);
  });

  test('have an HTTP check', async () => {
    const entry = { name: 'cache', port: 1, probe: 'https', path: '/ok?a=b', expectedStatus: 204, caFile: '/ca' };
    expect((await services(`- ${JSON.stringify(entry)}`))[2]).toEqual({ ...TIMING, ...entry });
  });

  test('change those of Gitpod', async () => {
    const argv = ['--ws-daemon-port=1', '--ws-daemon-probe=tls', '--registry-facade-ca-file=/ca'];
    const entries = '- {name: registry-facade, timeoutMs: 70}\n- {name: ws-daemon, failureThreshold: 9}\n';
    expect(await services(entries, argv)).toEqual([
      { name: 'ws-daemon', port: 1, probe: 'tls', ...TIMING, failureThreshold: 9 },
      { name: 'registry-facade', port: 31750, caFile: '/ca', ...TIMING, timeoutMs: 70 },
    ]);
  });

  test('can be printed and read again', async () => {
    const entries = '- {name: cache, port: 1, probe: http, path: /x}\n- {name: registry-facade, periodMs: 50}\n';
    const printed = await load(entries, ['--print-config', '--failure-threshold=8']);
    const text = printed.action === 'print' ? printed.text : '';
    const again = await loadConfig({ argv: ['--config=/c'], env: ENV, readFile: () => text });
    const expected = await services(entries, ['--failure-threshold=8']);
    expect(again.action === 'run' && again.values.watchedServices).toEqual(expected);
  });

  test.each<[string, RegExp]>([
    ['- {port: 1}', /services\[0\]\.name: is required$/],
    ['- {name: Cache, port: 1}', /services\[0\]\.name: must be a DNS label/],
    ['- {name: cache}', /services\[0\]\.port: is required, as cache has none of its own$/],
    [
      '- {name: ws-daemon}\n- {name: a, port: 1}\n- {name: b, prot: 1}',
      /services\[2\]\.prot: unknown field, did .* port\?$/,
    ],
    ['- {name: a, port: 1}\n- {name: a, port: 2}', /services\[1\]\.name: is that of \[0\] already$/],
    ['- {name: ws-daemon, probe: http}', /services\[0\]\.probe: is what --ws-daemon-probe is for: leave it out$/],
    ['- {name: registry-facade, caFile: /a}', /services\[0\]\.caFile: is what --registry-facade-ca-file is for/],
    ['- {name: a, port: 1, probe: icmp}', /services\[0\]\.probe: must be one of tcp, tls, http2, http, https/],
    ['- {name: a, port: 1, periodMs: 9}', /services\[0\]\.periodMs: .*from 10/],
    ['- {name: a, port: 1, failureThreshold: 0}', /services\[0\]\.failureThreshold: .*from 1/],
    ['- {name: a, port: 1, probe: http, path: x}', /services\[0\]\.path: must begin with "\/"/],
    ['- {name: a, port: 1, probe: http, path: "/a b"}', /services\[0\]\.path: must begin/],
    ['- {name: a, port: 1, probe: http, expectedStatus: 99}', /services\[0\]\.expectedStatus: .*from 200 to 599/],
    ['- {name: a, port: 1, path: /x}', /services\[0\]\.path: has no use for a, which is asked by tcp: leave it out$/],
    ['- {name: a, port: 1, probe: tls, expectedStatus: 200}', /services\[0\]\.expectedStatus: has no use/],
    [
      '- {name: a, port: 1, probe: http, caFile: /ca}',
      /services\[0\]\.caFile: has no use for a, which is asked by http:/,
    ],
    ['- {name: registry-facade, probe: tcp}', /services\[0\]\.probe: registry-facade is asked in a way of its own/],
    ['- {name: registry-facade, path: /x}', /services\[0\]\.path: has no use for registry-facade/],
  ])('are refused when they are %s', async (entries, message) => {
    await expect(load(entries)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(new RegExp(`^/c: ${message.source}`)),
    });
  });
});
