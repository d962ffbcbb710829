import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KEYS_ANNOTATION, SERVICE_LABEL_PREFIX } from '@rollcall/common/well-known.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_SERVICE_PREFIXES, DEFAULT_SETTINGS } from '../../../deploy/source/manifests/settings.ts';
import { createNode, type NodeObject } from '../../control-plane/cluster.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { Program } from '../../rig/program.ts';
import { applyNodeServiceCrd, NODE_SERVICES, nodeService } from './node-services.ts';

// Pruning, where nothing but rollcall's own list, or nothing but a prefix of NodeServices, tells whose a key is.

let embedded: EmbeddedRig;

beforeAll(async () => {
  const dir = await mkdtemp(join(tmpdir(), 'rules-'));
  await mkdir(join(dir, 'example.com'));
  await writeFile(join(dir, 'example.com', 'derived'), 'group=a\n');
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    fence: { labelPrefixes: [...DEFAULT_SETTINGS.labelPrefixes, 'example.com/'] },
    coordinatorArgs: [
      `--label-dir=${dir}`,
      '--rules-allowed-prefixes=example.com/',
      `--services-allowed-prefixes=${DEFAULT_SERVICE_PREFIXES}`,
    ],
    nodes: 0,
  });
});
afterAll(() => embedded?.stop());

const api = () => embedded.controlPlane.api;
const node = (name: string) => api().get<NodeObject>(`/api/v1/nodes/${name}`);
const LABEL = 'example.com/derived';
const TAINT = `${SERVICE_LABEL_PREFIX}never`;

test('pruning removes what it finds', async () => {
  for (const name of ['whole', 'reset', 'reset-applied', 'unlisted'])
    await createNode(api(), name, { labels: { group: 'a' } });
  const pods = { namespace: 'default', selector: { matchLabels: { app: 'never' } } };
  const taint = { key: TAINT, effect: 'NoSchedule', maxUnavailable: '100%' };
  await api().post(NODE_SERVICES, nodeService('never', { checks: [{ name: 'pod', pods }], publish: { taint } }));
  const isSet = async (name: string) => {
    const { metadata, spec } = await node(name);
    return metadata.labels?.[LABEL] === 'true' && spec.taints?.some(({ key }) => key === TAINT) === true;
  };
  for (const name of ['whole', 'reset', 'reset-applied', 'unlisted'])
    await waitFor(`label and taint of ${name}`, () => isSet(name));
  // While the coordinator runs: it applies everything again, beside `before-first-apply`.
  const { rig } = embedded;
  await api().patch('/api/v1/nodes/reset-applied', { metadata: { managedFields: [{}] } });
  const isApplied = async () => {
    const { metadata } = await node('reset-applied');
    const { managedFields = [] } = metadata as { managedFields?: { manager: string }[] };
    return managedFields.some((entry) => entry.manager === 'rollcall' && JSON.stringify(entry).includes(LABEL));
  };
  await waitFor('rollcall to apply the label again', isApplied);
  for (const each of [...rig.coordinators]) await rig.endCoordinator(each, 'SIGTERM');
  await api().patch('/api/v1/nodes/reset', { metadata: { managedFields: [{}] } });
  await api().patch('/api/v1/nodes/unlisted', { metadata: { annotations: { [KEYS_ANNOTATION]: null } } });
  await api().delete(`${NODE_SERVICES}/never`);
  const prune = new Program('coordinator', {
    args: [
      `--kubeconfig=${rig.cluster.coordinatorKubeconfig}`,
      ...['--reports-listen=127.0.0.1:0', '--listen=off', '--console-listen=off', '--prune'],
    ],
    env: { POD_NAMESPACE: 'rollcall' },
  });
  expect(await prune.exited()).toBe(0);
  const left: Record<string, string[]> = {};
  for (const name of ['whole', 'reset', 'reset-applied', 'unlisted']) {
    const { metadata, spec } = await node(name);
    left[name] = [
      ...Object.keys(metadata.labels ?? {}).filter((key) => key === LABEL),
      ...(spec.taints ?? []).map(({ key }) => key).filter((key) => key === TAINT),
      ...Object.keys(metadata.annotations ?? {}).filter((key) => key.startsWith('rollcall.dev/')),
    ];
  }
  expect(left).toEqual({ whole: [], reset: [], 'reset-applied': [], unlisted: [] });
});
