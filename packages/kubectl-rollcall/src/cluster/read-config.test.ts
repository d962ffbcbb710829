import { expect, test } from 'vitest';
import { kubeStandIn } from '../testing/stand-in.test-fixtures.ts';
import { readConfig } from './read-config.ts';

const CONFIG = '/api/v1/namespaces/ns/configmaps/rollcall-coordinator';

async function read(configMap: object): Promise<object> {
  return readConfig((await kubeStandIn({ [CONFIG]: configMap })).kube, 'ns');
}

test('the configuration is the file of the coordinators', async () => {
  expect(await read({ data: { 'coordinator.yaml': 'namespace: gitpod\nevict: true\n' } })).toEqual({
    namespace: 'gitpod',
    evict: true,
  });
});

test('settings in groups have the names that they have outside, and null is none', async () => {
  const file = 'services:\n  allowedPrefixes: [a/]\n  conditions: false\npoolLabels: [a]\nlabelDir: null\n';
  expect(await read({ data: { 'coordinator.yaml': file } })).toEqual({
    servicesAllowedPrefixes: ['a/'],
    servicesConditions: false,
    poolLabels: ['a'],
  });
});

test.each([
  ['no file', {}],
  ['an empty file', { data: { 'coordinator.yaml': '' } }],
  ['a file that is only a text', { data: { 'coordinator.yaml': 'text' } }],
])('of %s it is empty', async (_what, configMap) => {
  expect(await read(configMap)).toEqual({});
});

test('a ConfigMap that is not there is an error', async () => {
  const { kube } = await kubeStandIn({});
  await expect(readConfig(kube, 'ns')).rejects.toMatchObject({ status: 404 });
});
