import { beforeAll, expect, test } from 'vitest';
import { ensureHelm, type Helm } from '../helm/helm.ts';
import { find, renderObjects, type Values } from './render.ts';

type Policy = { spec: { ingress: { ports: { port: string }[]; from?: object[] }[] } };

const PROMETHEUS = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } };

let helm: Helm;

beforeAll(async () => {
  helm = await ensureHelm();
}, 600_000);

/** Who may open the port for health and metrics; `all` stands for a rule without peers. */
async function metricsPeers(name: string, values: Values): Promise<(object | 'all')[]> {
  const { ingress } = find<Policy & Parameters<typeof find>[0][number]>(
    await renderObjects(helm, values),
    'NetworkPolicy',
    name,
  ).spec;
  return ingress
    .filter(({ ports }) => ports[0]?.port === 'metrics')
    .flatMap(({ from }): (object | 'all')[] => from ?? ['all']);
}

const helmTest = expect.objectContaining({ podSelector: expect.anything() });

test('no pod may ask for metrics by default, except the one of helm test', async () => {
  expect(await metricsPeers('rollcall-agent', {})).toEqual([]);
  expect(await metricsPeers('rollcall-coordinator', {})).toEqual([helmTest]);
});

test('those who are named as scrapers may ask for metrics, and no others', async () => {
  const values = { networkPolicy: { scrapers: [PROMETHEUS] } };
  expect(await metricsPeers('rollcall-agent', values)).toEqual([PROMETHEUS]);
  expect(await metricsPeers('rollcall-coordinator', values)).toEqual([helmTest, PROMETHEUS]);
});
