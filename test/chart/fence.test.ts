import { beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { fenceAgrees } from '../../packages/kubectl-rollcall/src/check/fence-checks.ts';
import { ensureHelm, type Helm } from '../helm/helm.ts';
import { EVERYTHING, fileOf, find, renderObjects, type Values } from './render.ts';

let helm: Helm;
beforeAll(async () => {
  helm = await ensureHelm();
}, 600_000);

test.each<[string, Values, string[]]>([
  ['the defaults', {}, []],
  ['everything', {}, ['--values', EVERYTHING]],
  ['Gitpod', { gitpod: { enabled: true, namespace: 'gitpod' } }, []],
  ['no rules', { rules: { accelerators: false, allowedPrefixes: ['example.com/'] } }, []],
  ['no conditions', { coordinator: { config: { servicesConditions: false } } }, []],
])(
  'with %s the fence and the configuration agree, as `kubectl rollcall check` sees it',
  async (_what, values, args) => {
    const objects = await renderObjects(helm, values, args);
    const config = { value: parse(fileOf(objects, 'rollcall-coordinator', 'coordinator.yaml')) };
    const policies = { value: [find(objects, 'ValidatingAdmissionPolicy', 'rollcall-fence')] };
    expect(await fenceAgrees({ config, policies } as Parameters<typeof fenceAgrees>[0])).toHaveProperty('well');
  },
);
