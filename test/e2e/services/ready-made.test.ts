import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { DEFAULT_SERVICE_PREFIXES } from '../../../deploy/source/manifests/settings.ts';
import type { KubeObject } from '../../control-plane/api-client.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { applyNodeServiceCrd, conditionOf, NODE_SERVICES } from './node-services.ts';

vi.setConfig({ testTimeout: 120_000 });

const FOLDER = path.resolve(import.meta.dirname, '../../../deploy/services');
const FILES = readdirSync(FOLDER).filter((file) => file.endsWith('.yaml'));

type NodeService = KubeObject & {
  spec: {
    checks: {
      pods?: { namespace: string };
      condition?: { reporter?: { namespace: string } };
      csi?: { socket: string };
      unix?: { path: string };
    }[];
    publish?: { taint?: { key: string } };
  };
};

let embedded: EmbeddedRig;

beforeAll(async () => {
  embedded = await startEmbeddedRig({
    prepare: applyNodeServiceCrd,
    fence: { servicePrefixes: DEFAULT_SERVICE_PREFIXES },
    coordinatorArgs: [`--services-allowed-prefixes=${DEFAULT_SERVICE_PREFIXES}`],
    nodes: 1,
  });
});

afterAll(() => embedded?.stop());

const textOf = (file: string) => readFileSync(path.join(FOLDER, file), 'utf8');
/** The manifest with the optional taint, which is a comment in the file. */
const withTaint = (text: string) => text.replace(/^ {2}# (?=publish:| {2}(label|taint):)/gm, '  ');
const setting = (text: string, name: string): string[] => {
  const found = new RegExp(`^# ${name.replace('.', '[.]')}: (.*)$`, 'm').exec(text)?.[1];
  return found === undefined || found === 'as delivered' ? [] : (parse(found) as string[]);
};

test('there is one for what many clusters have', () => {
  const names = ['ebs-csi', 'efs-csi', 'gce-pd-csi', 'azure-disk-csi', 'cilium', 'calico', 'nvidia-device-plugin'];
  names.push('node-problem-detector', 'eks-node-monitoring-agent');
  names.push('amd-device-plugin', 'intel-gpu-plugin', 'fluent-bit', 'spegel', 'registry-mirror', 'node-local-dns');
  expect(FILES.map((file) => file.replace('.yaml', '')).toSorted()).toEqual(names.toSorted());
});

describe.each(FILES)('%s', (file) => {
  const text = textOf(file);
  const object = parse(text) as NodeService;

  test('says what it was checked against, and all that has to be set for it', () => {
    expect(text).toMatch(/^# Checked against [\w-]+\/[\w-]+ (v|at |[a-z-]+\d)/m);
    expect(text).toMatch(/^# services\.allowedPrefixes: as delivered$/m);
    expect(object.metadata.name).toBe(file.replace('.yaml', ''));
    const { checks } = object.spec;
    const namespaces = checks.flatMap(({ pods, condition }) => pods?.namespace ?? condition?.reporter?.namespace ?? []);
    expect(setting(text, 'watchNamespaces')).toEqual([...new Set(namespaces)]);
    const paths = checks.flatMap(({ csi, unix }) => csi?.socket ?? unix?.path ?? []);
    expect(setting(text, 'agent.probePaths')).toEqual(paths.map((each) => path.dirname(each)));
  });

  test('is accepted by the API server and by the coordinator, with its taint as well', async () => {
    const { api } = embedded.controlPlane;
    for (const each of new Set([text, withTaint(text)])) {
      const applied = parse(each) as NodeService;
      await api.post(`${NODE_SERVICES}?fieldValidation=Strict`, applied);
      const { name } = applied.metadata;
      const accepted = () => conditionOf(api, name, 'Ready');
      await waitFor('a status', async () => (await accepted()) !== '', { timeoutMs: 30_000 });
      expect(await accepted()).toBe('True InForce: Its checks decide about its keys');
      expect(applied.spec.publish?.taint?.key ?? `readiness.k8s.io/${name}`).toBe(`readiness.k8s.io/${name}`);
      await api.delete(`${NODE_SERVICES}/${name}`);
      await waitFor('its end', async () =>
        api.get(`${NODE_SERVICES}/${name}`).then(
          () => false,
          () => true,
        ),
      );
    }
  });
});
