import { describe, expect, test } from 'vitest';
import { kubeConfigFor, kubeStandIn, Status, standIn } from '../testing/stand-in.test-fixtures.ts';
import { type Console, openConsole } from './console.ts';

const noKubeConfig = () => {
  throw new Error('No kubeconfig is needed here');
};
const consoleAt = (consoleUrl: string): Promise<Console> => openConsole(noKubeConfig, { consoleUrl, namespace: 'ns' });

describe('a console by its URL', () => {
  test('is asked without a kubeconfig, and slashes at the end of its URL are left out', async () => {
    const { url, asked } = await standIn({ '/v1/nodes': { replica: {} }, 'POST /v1/diff': { replica: {}, looked: 1 } });
    const console = await consoleAt(`${url}//`);
    expect(console.url).toBe(url);
    expect(await console.get('/v1/nodes')).toEqual({ replica: {} });
    expect(await console.post('/v1/diff', { rules: {} })).toEqual({ replica: {}, looked: 1 });
    expect(asked).toMatchObject([
      { method: 'GET', body: undefined },
      { method: 'POST', body: { rules: {} } },
    ]);
    console.close();
  });

  test('that does not know an object gives nothing', async () => {
    const console = await consoleAt((await standIn({ '/b': { replica: {} } })).url);
    expect(await console.find('/a')).toBeUndefined();
    expect(await console.find('/b')).toEqual({ replica: {} });
  });

  test('that answers an error is quoted: its detail, or what there is of its text', async () => {
    const answers = {
      '/a': new Status(503, '{"detail":"it begins"}'),
      '/b': new Status(502, 'x'.repeat(300)),
      '/c': new Status(500, '{"x":1}'),
    };
    const console = await consoleAt((await standIn(answers)).url);
    await expect(console.get('/a')).rejects.toMatchObject({
      message: 'The console answered 503: it begins',
      cure: 'try again in a moment',
    });
    await expect(console.get('/b')).rejects.toThrow(/^The console answered 502: x{200}$/);
    await expect(console.get('/c')).rejects.toThrow('The console answered 500: {"x":1}');
  });

  test.each([
    ['no JSON', new Status(200, '<html>')],
    ['no object', [1]],
    ['null', null],
    ['no document of a replica', { nodes: [] }],
    ['404', new Status(404)],
  ])('that answers with %s is none', async (_what, answer) => {
    const console = await consoleAt((await standIn({ '/a': answer, 'POST /a': answer })).url);
    for (const asked of [console.get('/a'), console.post('/a', {})]) {
      await expect(asked).rejects.toMatchObject({
        message: 'The answer does not come from a console of rollcall',
        cure: 'check --console-url',
        exitCode: 3,
      });
    }
  });

  test('that does not answer is told with the reason', async () => {
    const console = await consoleAt('http://127.0.0.1:1');
    await expect(console.get('/a')).rejects.toMatchObject({
      message: expect.stringMatching(/^The console does not answer: .*ECONNREFUSED/),
      cure: 'check that the pod runs and that --console-listen is not "off", or pass --console-url',
    });
  });
});

describe('a console by a port-forward', () => {
  const LEASE = '/apis/coordination.k8s.io/v1/namespaces/ns/leases/rollcall-coordinator';
  const POD = '/api/v1/namespaces/ns/pods/c-1';
  const CONFIG_MAP = '/api/v1/namespaces/ns/configmaps/rollcall-coordinator';
  const lease = { spec: { holderIdentity: 'c-1_abc' } };
  const withArgs = (...args: string[]) => ({ spec: { containers: [{}, { args }] } });

  /** The message, the cure, and which port of which pod was asked for. */
  async function failure(pod: unknown, upgraded = new Status(403), file: unknown = new Status(404)) {
    const answers = { [LEASE]: lease, [POD]: pod, [CONFIG_MAP]: file, [`${POD}/portforward`]: upgraded };
    const { config, asked } = await kubeStandIn(answers);
    const console = await openConsole(() => config, { namespace: 'ns' });
    const error: unknown = await console.get('/a').catch((cause: unknown) => cause);
    console.close();
    return { error, asked: asked.at(-1)?.path };
  }

  test.each([
    ['the port that the pod names', withArgs('--x', '--console-listen=:8091'), 8091],
    ['the port that the pod names with an address', withArgs('--console-listen=127.0.0.1:18090'), 18_090],
    ['the default port, where the pod names none', withArgs('--x=:1'), 8090],
    ['the default port, where the pod has no arguments', {}, 8090],
    ['the default port, where the pod may not be read', new Status(403), 8090],
  ])('is asked at %s', async (_what, pod, port) => {
    expect((await failure(pod)).asked).toBe(`${POD}/portforward?ports=${port}`);
  });

  test('is asked at the port in the file of the coordinators, unless the pod names another', async () => {
    const file = { data: { 'coordinator.yaml': 'consoleListen: "127.0.0.1:9999"' } };
    const askedOf = async (pod: unknown) => (await failure(pod, undefined, file)).asked;
    expect(await askedOf(withArgs('--config=/etc/rollcall/coordinator.yaml'))).toBe(`${POD}/portforward?ports=9999`);
    expect(await askedOf(withArgs('--console-listen=:8091'))).toBe(`${POD}/portforward?ports=8091`);
  });

  test('that is forbidden is a right to ask for', async () => {
    expect((await failure({})).error).toMatchObject({
      message: 'The console does not answer: port-forward to pod ns/c-1: Unexpected server response: 403',
      cure: 'ask for the right to create pods/portforward in the namespace of rollcall, or pass --console-url',
    });
  });

  test('that fails otherwise is a console that may be off', async () => {
    expect((await failure({}, new Status(500))).error).toMatchObject({
      message: 'The console does not answer: port-forward to pod ns/c-1: Unexpected server response: 500',
      cure: expect.stringContaining('check that the pod runs'),
    });
  });

  test('to a pod that is not there asks to try again', async () => {
    const { config } = await kubeStandIn({ [LEASE]: lease });
    await expect(openConsole(() => config, { namespace: 'ns' })).rejects.toMatchObject({
      message: 'The leader c-1 is not a pod in ns',
      cure: expect.stringContaining('try again: another replica takes over within seconds'),
    });
  });

  test('is not possible where the API server cannot be reached', async () => {
    await expect(openConsole(() => kubeConfigFor('http://127.0.0.1:1'), { namespace: 'ns' })).rejects.toThrow(
      'The API server cannot be reached',
    );
    const { config, server } = await kubeStandIn({ [LEASE]: lease, [POD]: () => server.closeAllConnections() });
    await expect(openConsole(() => config, { namespace: 'ns' })).rejects.toThrow(
      'The API server cannot be reached: socket hang up',
    );
  });

  test('listens at the port that is asked for', async () => {
    const { config } = await kubeStandIn({ [LEASE]: lease, [POD]: {} });
    const any = await openConsole(() => config, { namespace: 'ns' });
    const port = Number(new URL(any.url).port);
    await expect(openConsole(() => config, { namespace: 'ns', port })).rejects.toThrow(`Cannot listen on port ${port}`);
    any.close();
  });
});
