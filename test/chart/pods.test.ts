import { beforeAll, describe, expect, test } from 'vitest';
import { ensureHelm, type Helm } from '../helm/helm.ts';
import { find, renderObjects, type Values, workloads } from './render.ts';

type Tolerations = { key?: string; operator?: string }[];

let helm: Helm;

beforeAll(async () => {
  helm = await ensureHelm();
}, 600_000);

describe('a change of one of the two numbers of a rolling update settles the other', () => {
  const cases: [string, Values, unknown, unknown][] = [
    ['none told', {}, '10%', 0],
    ['none told, in the network of the node', { hostNetwork: true }, 0, 1],
    ['a share of surge', { rollingUpdate: { maxSurge: '10%' } }, '10%', 0],
    ['no surge', { rollingUpdate: { maxSurge: 0 } }, 0, 1],
    ['no share of surge', { rollingUpdate: { maxSurge: '0%' } }, '0%', 1],
    ['a share away', { rollingUpdate: { maxUnavailable: '10%' } }, 0, '10%'],
    ['none away', { rollingUpdate: { maxUnavailable: 0 } }, '10%', 0],
    [
      'all away, in the network of the node',
      { hostNetwork: true, rollingUpdate: { maxUnavailable: '100%' } },
      0,
      '100%',
    ],
    ['both told', { rollingUpdate: { maxSurge: 0, maxUnavailable: 3 } }, 0, 3],
  ];

  test.each(cases)('%s', async (_, agent, maxSurge, maxUnavailable) => {
    const { spec } = find(await renderObjects(helm, { agent }), 'DaemonSet', 'rollcall-agent') as {
      spec?: { updateStrategy: { rollingUpdate: object } };
    };
    expect(spec?.updateStrategy.rollingUpdate).toEqual({ maxSurge, maxUnavailable });
  });
});

describe('the taints of services, whatever their keys,', () => {
  const own = { effect: 'NoSchedule', operator: 'Exists' };
  const mine = { key: 'mine', operator: 'Exists' };

  async function tolerated(kind: string, tolerations?: object[]): Promise<Tolerations> {
    const told = tolerations ? { tolerations } : {};
    const objects = await renderObjects(helm, { agent: told, coordinator: told });
    const pod = workloads(objects).find((each) => each.kind === kind)?.template.spec;
    return pod?.['tolerations'] as Tolerations;
  }

  test.each(['DaemonSet', 'Deployment', 'Job'])(
    'keep no pod of the %s off, whatever else it tolerates',
    async (kind) => {
      expect(await tolerated(kind, [mine])).toEqual([own, mine]);
      expect(await tolerated(kind, [])).toEqual([own]);
    },
  );

  test('that evict take no pod of ours away, but where a node is lost', async () => {
    const config = { allowNoExecute: true };
    const objects = await renderObjects(helm, { coordinator: { config }, agent: { tolerations: [] } });
    for (const { kind, template } of workloads(objects)) {
      const lost = (key: string) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 });
      expect([kind, template.spec['tolerations']]).toEqual([
        kind,
        [
          own,
          lost('node.kubernetes.io/not-ready'),
          lost('node.kubernetes.io/unreachable'),
          { operator: 'Exists', effect: 'NoExecute' },
        ],
      ]);
    }
  });

  test('are not said again where agents tolerate everything, but where that is of one effect', async () => {
    expect(await tolerated('DaemonSet')).toEqual([{ operator: 'Exists' }]);
    expect(await tolerated('DaemonSet', [mine, { operator: 'Exists' }])).toEqual([mine, { operator: 'Exists' }]);
    expect(await tolerated('DaemonSet', [{ operator: 'Exists', effect: 'NoExecute' }])).toHaveLength(2);
  });
});

test("annotations of pods are joined with the chart's own, which they do not replace", async () => {
  const podAnnotations = { 'checksum/config': 'mine', 'example.com/note': 'kept' };
  const told = workloads(await renderObjects(helm, { agent: { podAnnotations }, coordinator: { podAnnotations } }));
  for (const kind of ['DaemonSet', 'Deployment']) {
    const { annotations } = told.find((each) => each.kind === kind)?.template.metadata ?? {};
    expect(annotations).toEqual({
      'checksum/config': expect.stringMatching(/^[0-9a-f]{64}$/),
      'example.com/note': 'kept',
    });
  }
});

test('the Job of an uninstallation comes to an end, and at once where it found coordinators', async () => {
  const job = find(await renderObjects(helm), 'Job', 'rollcall-uninstall');
  const podFailurePolicy = { rules: [{ action: 'FailJob', onExitCodes: { operator: 'In', values: [2] } }] };
  expect(job['spec']).toMatchObject({ activeDeadlineSeconds: 600, podFailurePolicy });
});
