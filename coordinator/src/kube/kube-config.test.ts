import type { RequestOptions } from 'node:https';
import type { CodedError } from '@rollcall/common/coded-error.ts';
import { describe, expect, it } from 'vitest';
import type { ApiAccessOptions } from './api-access.ts';
import { loadKubeConfig } from './kube-config.ts';
import { openApiAccess } from './open-api-access.ts';

const CA = Buffer.from('the CA').toString('base64');

function kubeconfig(name: string, more: { cluster?: object; user?: object; current?: string } = {}): string {
  return JSON.stringify({
    clusters: [
      { name, cluster: { server: `https://${name}:6443`, 'certificate-authority-data': CA, ...more.cluster } },
    ],
    users: [{ name, user: { token: `token of ${name}`, ...more.user } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': more.current ?? name,
  });
}

type Given = Partial<Pick<ApiAccessOptions, 'kubeconfig' | 'master' | 'env' | 'fields'>>;

/** Reads files that exist only here. */
function readerOf(files: object) {
  return (path: string) => {
    const text = (files as Record<string, string>)[path];
    if (text === undefined) throw Object.assign(new Error(`no such file: ${path}`), { code: 'ENOENT' });
    return text;
  };
}

function open(given: Given, files: object = {}) {
  return openApiAccess({ kubeconfig: '', master: '', env: {}, readFile: readerOf(files), ...given });
}

/** What the library makes of files. */
function load(given: { kubeconfig: string; master?: string }, files: object) {
  return loadKubeConfig({ master: '', ...given }, readerOf(files));
}

async function problem(...args: Parameters<typeof open>): Promise<string> {
  try {
    await open(...args);
  } catch (err) {
    expect((err as CodedError).code).toBe('CONFIG_INVALID');
    return (err as CodedError).message;
  }
  throw new Error('it was accepted');
}

async function options(...args: Parameters<typeof open>): Promise<RequestOptions> {
  return (await open(...args)).options();
}

const inCluster = {
  '/var/run/secrets/kubernetes.io/serviceaccount/token': 'pod token',
  '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt': 'pod CA',
};
const podEnv = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };

describe('access to the API server', () => {
  it('reads the file that it is given, also in YAML', async () => {
    const yaml = [
      'current-context: here',
      'contexts: [{name: here, context: {cluster: c, user: u}}]',
      'clusters: [{name: c, cluster: {server: "https://c/"}}]',
      'users: [{name: u, user: {token: secret}}]',
    ].join('\n');
    expect(load({ kubeconfig: '/k' }, { '/k': yaml }).getCurrentCluster()?.server).toBe('https://c');
    expect((await options({ kubeconfig: '/k' }, { '/k': yaml })).headers).toMatchObject({
      Authorization: 'Bearer secret',
    });
  });

  it('merges several files as kubectl does: the first that names a thing wins, and one may be missing', () => {
    const files = {
      '/a': kubeconfig('a', { current: '' }),
      '/b': kubeconfig('b'),
      '/c': kubeconfig('b', { cluster: { server: 'https://other' } }),
    };
    const merged = load({ kubeconfig: '/a:/missing:/b:/c' }, files);
    expect(merged.getCurrentContext()).toBe('b');
    expect(merged.getCurrentCluster()?.server).toBe('https://b:6443');
    expect(merged.getContexts().map(({ name }) => name)).toEqual(['a', 'b']);
  });

  it('uses the service account of the pod where no file is given, whatever the files say by then', async () => {
    const files = { ...inCluster };
    const access = await open({ env: podEnv }, files);
    expect(access.server).toBe('https://10.0.0.1:443');
    expect(await access.options()).toEqual({ ca: 'pod CA', headers: { Authorization: 'Bearer pod token' } });
    files['/var/run/secrets/kubernetes.io/serviceaccount/token'] = 'renewed';
    expect((await access.options()).headers).toEqual({ Authorization: 'Bearer renewed' });
    const ipv6 = await open({ env: { ...podEnv, KUBERNETES_SERVICE_HOST: 'fd00::1' } }, inCluster);
    expect(ipv6.server).toBe('https://[fd00::1]:443');
  });

  it('reads its files again when what they said is no longer accepted', async () => {
    const files = { '/k': kubeconfig('k') };
    const access = await open({ kubeconfig: '/k' }, files);
    files['/k'] = kubeconfig('k', { user: { token: 'another' } });
    expect((await access.options()).headers).toEqual({ Authorization: 'Bearer token of k' });
    access.renew();
    expect((await access.options()).headers).toEqual({ Authorization: 'Bearer another' });
  });

  it('lets --master go before the address that the rest says', async () => {
    const files = { '/k': kubeconfig('k') };
    const given = { kubeconfig: '/k', master: 'https://other:1' };
    expect((await open(given, files)).server).toBe('https://other:1');
    expect((await options(given, files)).headers).toMatchObject({ Authorization: 'Bearer token of k' });
    expect((await open({ master: 'https://other:1', env: podEnv }, inCluster)).server).toBe('https://other:1');
    expect((await open({ master: 'http://localhost:8080' })).server).toBe('http://localhost:8080');
  });

  it('gives options also for a plain HTTP server', async () => {
    await expect(options({ master: 'http://localhost:8080' })).resolves.toBeDefined();
  });

  it('finds the files that a kubeconfig names from where the kubeconfig is', () => {
    const text = kubeconfig('k', {
      cluster: { 'certificate-authority': 'ca.crt' },
      user: { 'client-certificate': '../me.crt', tokenFile: 'token', exec: { command: './bin/login', env: null } },
    });
    const files = { '/etc/kube/config': text, '/etc/kube/ca.crt': '', '/etc/me.crt': '', '/etc/kube/token': '' };
    const config = load({ kubeconfig: '/etc/kube/config' }, files);
    expect(config.getCurrentCluster()?.caFile).toBe('/etc/kube/ca.crt');
    const user = config.getCurrentUser();
    expect(user).toMatchObject({ certFile: '/etc/me.crt', authProvider: { config: { tokenFile: '/etc/kube/token' } } });
    expect(user?.token).toBeUndefined();
    expect(user?.exec).toEqual({ command: '/etc/kube/bin/login', env: null });
  });

  it('keeps the CA of a context without a user', async () => {
    const text = JSON.stringify({
      ...JSON.parse(kubeconfig('k')),
      contexts: [{ name: 'k', context: { cluster: 'k' } }],
    });
    expect((await options({ kubeconfig: '/k' }, { '/k': text })).ca).toEqual(Buffer.from('the CA'));
  });

  it('names an auth-provider that is not known, instead of a 401', () => {
    const user = { 'auth-provider': { name: 'keystone' } };
    const text = JSON.stringify({ ...JSON.parse(kubeconfig('k')), users: [{ name: 'k', user }] });
    expect(() => load({ kubeconfig: '/k' }, { '/k': text })).toThrow('has the auth-provider "keystone"');
  });

  it('needs no credentials of a user', async () => {
    const text = JSON.stringify({ ...JSON.parse(kubeconfig('k')), users: [{ name: 'k' }] });
    expect((await options({ kubeconfig: '/k' }, { '/k': text })).headers).toEqual({});
  });

  it.each([
    ['https://k', undefined, false],
    ['https://k', true, true],
    ['http://localhost', undefined, true],
  ])('leaves out the check of the certificate of %s (insecure-skip-tls-verify: %s): %s', (server, skip, isSkipped) => {
    const text = kubeconfig('k', { cluster: { server, 'insecure-skip-tls-verify': skip } });
    expect(Boolean(load({ kubeconfig: '/k' }, { '/k': text }).getCurrentCluster()?.skipTLSVerify)).toBe(isSkipped);
  });

  const clear = (server: string) => `"${server}" would get credentials in clear text`;
  const k = (server: string, more = {}) => ({ '/k': kubeconfig('k', { cluster: { server, ...more } }) });

  it.each([
    [
      '--master in a pod',
      { master: 'http://10.0.0.1', env: podEnv },
      inCluster,
      `--master: ${clear('http://10.0.0.1')}`,
    ],
    ['--master outside', { master: 'http://k' }, {}, `--master: ${clear('http://k')}`],
    [
      '--master, not the https:// that it replaces',
      { kubeconfig: '/k', master: 'http://k' },
      k('https://k'),
      '--master: ',
    ],
    ['a kubeconfig', { kubeconfig: '/k' }, k('http://k'), `--kubeconfig: ${clear('http://k')}`],
    [
      'a kubeconfig that KUBECONFIG names',
      { kubeconfig: '/k', fields: { kubeconfig: 'KUBECONFIG', master: '--master' } },
      k('http://k'),
      `KUBECONFIG: ${clear('http://k')}`,
    ],
    ['a host that only begins like a loopback address', { master: 'http://127.0.0.1.k' }, {}, '--master: '],
    ['an address that maps a loopback address', { master: 'http://[::ffff:127.0.0.1]' }, {}, '--master: '],
    ['a user in the address', { master: 'http://localhost@k' }, {}, '--master: '],
    [
      'a proxy on the way to a loopback address',
      { kubeconfig: '/k' },
      k('http://127.0.0.1:1', { 'proxy-url': 'http://proxy:3128' }),
      '--kubeconfig: proxy-url would get credentials in clear text',
    ],
  ])('refuses credentials in clear text: %s', async (_case, given, files, message) => {
    expect(await problem(given, files)).toContain(message);
  });

  it.each(['http://127.9.9.9:1', 'http://[::1]:1', 'http://LOCALHOST:1', 'http://2130706433:1'])(
    'needs no TLS on a loopback address: %s',
    async (master) => {
      expect((await open({ master })).server).toBe(master);
    },
  );

  it('names the variable where that gave the path of a file that is no good', async () => {
    const fields = { kubeconfig: 'KUBECONFIG', master: '--master' };
    const texts = ['a: [', '[]', 'users: 5', '{}', kubeconfig('k', { current: 'x' }), 'clusters: [{}]'];
    const files = { '/missing/token': kubeconfig('k', { user: { tokenFile: '/t' } }), '/none': undefined };
    for (const text of texts)
      expect(await problem({ kubeconfig: '/k', fields }, { '/k': text })).toMatch(/^KUBECONFIG: /);
    for (const path of Object.keys(files)) {
      expect(await problem({ kubeconfig: path, fields }, files)).toMatch(/^KUBECONFIG: /);
    }
  });

  it('says why none of several files could be read', async () => {
    await expect(open({ kubeconfig: '/k:/l' })).rejects.toMatchObject({ cause: { message: 'no such file: /l' } });
  });

  it.each([
    ['nothing is given outside a cluster', {}, {}, '--kubeconfig: not given, and this is not a pod'],
    ['a pod has no token', { env: podEnv }, {}, 'no service account token is mounted'],
    [
      'a pod has no CA',
      { env: podEnv },
      { '/var/run/secrets/kubernetes.io/serviceaccount/token': 't' },
      'no CA is mounted',
    ],
    ['the file is missing', { kubeconfig: '/k' }, {}, '--kubeconfig: cannot read /k'],
    ['all of several files are missing', { kubeconfig: '/k:/l' }, {}, 'file not found: /k:/l'],
    ['the file is not YAML', { kubeconfig: '/k' }, { '/k': 'a: [' }, '/k is not YAML'],
    ['the file is empty', { kubeconfig: '/k' }, { '/k': '' }, '/k is not YAML'],
    ['the file is a list', { kubeconfig: '/k' }, { '/k': '[]' }, '/k is not a kubeconfig'],
    ['a list is none', { kubeconfig: '/k' }, { '/k': 'users: 5' }, '/k: users is not a list'],
    ['it is an empty kubeconfig', { kubeconfig: '/k' }, { '/k': '{}' }, '/k has no current-context'],
    ['the context is missing', { kubeconfig: '/k' }, { '/k': kubeconfig('k', { current: 'x' }) }, 'has no context "x"'],
    [
      'the cluster is missing',
      { kubeconfig: '/k' },
      { '/k': 'contexts: [{name: a, context: {cluster: c}}]\ncurrent-context: a' },
      'has no cluster "c", but the context "a" names it',
    ],
    [
      'the user is missing',
      { kubeconfig: '/k' },
      { '/k': JSON.stringify({ ...JSON.parse(kubeconfig('k')), users: [] }) },
      'has no user "k", but the context "k" names it',
    ],
    ['an entry has no name', { kubeconfig: '/k' }, { '/k': 'clusters: [{}]' }, '--kubeconfig: is not complete'],
    ['the address is none', { kubeconfig: '/k', master: 'here' }, { '/k': kubeconfig('k') }, '--master: "here" is not'],
    [
      'a file that it names is missing',
      { kubeconfig: '/k' },
      { '/k': kubeconfig('k', { user: { tokenFile: '/t' } }) },
      'cannot read /t, to which the kubeconfig refers',
    ],
  ])('refuses when %s', async (_case, given, files, message) => {
    expect(await problem(given, files)).toContain(message);
  });
});
