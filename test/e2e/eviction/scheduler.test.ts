import { meetsRequiredAffinity } from '@rollcall/coordinator/kube/node-affinity.ts';
import type { NodeDemands, NodeRequirement, NodeSelectorTerm } from '@rollcall/coordinator/kube/objects.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNamespace, createNode, createPod, type PodObject } from '../../control-plane/cluster.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { waitFor } from '../../control-plane/wait-for.ts';

const namespace = 'demands';

/** A taint on each keeps the pods away that are asked about another one. */
const nodes: Record<string, Record<string, string>> = {
  bare: {},
  small: { gpu: 'true', cores: '8', zone: 'a' },
  large: { gpu: 'false', cores: '128', zone: 'b', empty: '' },
  odd: { cores: 'many', zone: '016', serial: '9007199254740993' },
};

let controlPlane: ControlPlane;

beforeAll(async () => {
  controlPlane = await startControlPlane({ scheduler: true });
  await createNamespace(controlPlane.api, namespace);
  for (const [name, labels] of Object.entries(nodes)) {
    await createNode(controlPlane.api, name, { labels, taints: [{ key: 'only', value: name, effect: 'NoSchedule' }] });
  }
});
afterAll(async () => {
  await controlPlane?.stop();
});

type Case = { demands: NodeDemands; node: string };

/** Whether the scheduler binds the pod of each case to its node. */
async function scheduled(cases: readonly Case[]): Promise<boolean[]> {
  const { api } = controlPlane;
  const podsPath = `/api/v1/namespaces/${namespace}/pods`;
  const names = cases.map((_each, index) => `pod-${index}`);
  for (const [index, { demands, node }] of cases.entries()) {
    const tolerations = [{ key: 'only', value: node, effect: 'NoSchedule' }];
    await createPod(api, { namespace, name: names[index] ?? '', spec: { ...demands, tolerations } });
  }
  const decided = await waitFor(
    'the scheduler',
    async () => {
      const pods = new Map((await api.list<PodObject>(podsPath)).map((pod) => [pod.metadata.name, pod]));
      const verdicts = names.map((name) => verdictOf(pods.get(name)));
      return verdicts.includes(undefined) ? undefined : verdicts;
    },
    { timeoutMs: 50_000, everyMs: 250 },
  );
  await api.delete(podsPath);
  await waitFor('the pods to go', async () => (await api.list(podsPath)).length === 0);
  return decided.map((verdict) => verdict === true);
}

/** `undefined` as long as the scheduler has not said. */
function verdictOf(pod: PodObject | undefined): boolean | undefined {
  if (pod?.spec.nodeName) return true;
  const refused = pod?.status.conditions?.some(({ type, status }) => type === 'PodScheduled' && status === 'False');
  return refused ? false : undefined;
}

async function expectAgreement(demands: readonly NodeDemands[]): Promise<{ met: number; unmet: number }> {
  const cases = demands.flatMap((each) => Object.keys(nodes).map((node) => ({ demands: each, node })));
  const ours = cases.map(({ demands: each, node: name }) => {
    const labels = { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', ...nodes[name] };
    return meetsRequiredAffinity(each, { name, labels });
  });
  const told = (verdicts: boolean[]) => cases.map((each, index) => ({ ...each, schedules: verdicts[index] }));
  expect(told(ours)).toEqual(told(await scheduled(cases)));
  const met = ours.filter((each) => each).length;
  return { met, unmet: ours.length - met };
}

function required(...nodeSelectorTerms: NodeSelectorTerm[]): NodeDemands {
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } };
}

function expression(key: string, operator: string, ...values: string[]): NodeRequirement {
  return { key, operator, ...(values.length > 0 ? { values } : {}) };
}

const one = (key: string, operator: string, ...values: string[]) =>
  required({ matchExpressions: [expression(key, operator, ...values)] });

const named = (operator: string, value: string) => [{ key: 'metadata.name', operator, values: [value] }];

test('a pod schedules exactly where its requirements are evaluated to be met', { timeout: 120_000 }, async () => {
  const hasGpu = expression('gpu', 'Exists');
  await expectAgreement([
    {},
    { nodeSelector: { gpu: 'true' } },
    { nodeSelector: { gpu: 'true', zone: 'a' } },
    { nodeSelector: { gpu: 'true', zone: 'b' } },
    { nodeSelector: { empty: '' } },
    one('gpu', 'In', 'true', 'maybe'),
    one('gpu', 'NotIn', 'true', 'maybe'),
    one('empty', 'In', ''),
    one('gpu', 'Exists'),
    one('empty', 'Exists'),
    one('gpu', 'DoesNotExist'),
    one('cores', 'Gt', '8'),
    one('cores', 'Gt', '7'),
    one('cores', 'Lt', '128'),
    one('cores', 'Lt', '129'),
    one('cores', 'Lt', '0000000000000000000000129'),
    one('cores', 'Gt', 'few'),
    one('cores', 'Gt', ''),
    one('cores', 'Lt', '9223372036854775807'),
    one('cores', 'Lt', '9223372036854775808'),
    one('zone', 'Gt', '15'),
    one('serial', 'Gt', '9007199254740992'),
    required({}),
    required({}, { matchExpressions: [hasGpu] }),
    required({ matchExpressions: [expression('cores', 'Gt', 'few')] }, { matchExpressions: [hasGpu] }),
    required({ matchExpressions: [hasGpu, expression('zone', 'NotIn', 'b')] }),
    required(
      { matchExpressions: [expression('zone', 'In', 'a')] },
      { matchExpressions: [expression('zone', 'In', 'b')] },
    ),
    required({ matchFields: named('In', 'large') }),
    required({ matchFields: named('NotIn', 'large') }),
    required({ matchFields: named('In', 'large'), matchExpressions: [hasGpu] }),
    required({ matchFields: named('In', 'odd'), matchExpressions: [hasGpu] }),
    { nodeSelector: { zone: 'a' }, ...one('gpu', 'Exists') },
    { nodeSelector: { zone: '016' }, ...one('gpu', 'Exists') },
  ]);
});

/** Any demands that the API server takes. A failure shows those that it was about. */
function anyDemands(): NodeDemands {
  const pick = <T>(...from: readonly T[]): T => from[Math.floor(Math.random() * from.length)] as T;
  const value = () => pick('', 'true', 'false', 'a', 'b', '8', '016', '128', 'many');
  const key = () => pick('gpu', 'cores', 'zone', 'empty', 'serial', 'absent');
  const many = <T>(lengths: readonly number[], make: () => T) => Array.from({ length: pick(...lengths) }, make);
  const requirement = () =>
    pick(
      expression(key(), pick('In', 'NotIn'), ...new Set(many([1, 2, 3], value))),
      expression(key(), pick('Exists', 'DoesNotExist')),
      expression(key(), pick('Gt', 'Lt'), value()),
    );
  const matchFields = () => named(pick('In', 'NotIn'), pick(...Object.keys(nodes)));
  const terms = many([1, 2, 3], () => ({
    matchExpressions: many([0, 1, 1, 2, 3], requirement),
    ...pick({}, {}, { matchFields: matchFields() }),
  }));
  return { nodeSelector: pick({}, {}, {}, { [key()]: value() }), ...required(...terms) };
}

test('so do fifty random demands', { timeout: 120_000 }, async () => {
  const { met, unmet } = await expectAgreement(Array.from({ length: 50 }, anyDemands));
  // A sample in which all demands are met, or none, proves nothing.
  expect(Math.min(met, unmet)).toBeGreaterThan(10);
});
