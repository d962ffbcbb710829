import { describe, expect, test } from 'vitest';
import type { NodeSelectorTerm, ObjectMeta, Pod } from '../../kube/objects.ts';
import { labelsMissedBy, type NodeState } from './misplaced-pods.ts';

const gone: NodeState = { labels: { zone: 'a' }, withdrawn: { gpu: 'true', npu: 'true' } };

function pod(spec: Pod['spec'], metadata: Partial<ObjectMeta> = {}, phase = 'Running'): Pod {
  return {
    metadata: { name: 'p', namespace: 'default', uid: 'u', resourceVersion: '1', ...metadata },
    spec: { nodeName: 'n', ...spec },
    status: { phase },
  };
}

function requiring(...nodeSelectorTerms: NodeSelectorTerm[]): Pod {
  const requiredDuringSchedulingIgnoredDuringExecution = { nodeSelectorTerms };
  return pod({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution } } });
}

const wantsGpu = { nodeSelector: { gpu: 'true' } };
const exists = (key: string) => ({ key, operator: 'Exists' });

describe('a pod misses', () => {
  test('a label that it selects', () => {
    expect(labelsMissedBy(pod(wantsGpu), 'n', gone)).toEqual(['gpu=true']);
  });

  test('a label that its affinity requires', () => {
    expect(labelsMissedBy(requiring({ matchExpressions: [exists('gpu')] }), 'n', gone)).toEqual(['gpu=true']);
  });

  test('several labels, and no others that were withdrawn', () => {
    const state = { labels: {}, withdrawn: { ...gone.withdrawn, tpu: 'true' } };
    expect(labelsMissedBy(pod({ nodeSelector: { npu: 'true', gpu: 'true' } }), 'n', state)).toEqual([
      'gpu=true',
      'npu=true',
    ]);
  });

  test('a label that has another value now', () => {
    const state = { labels: { pool: 'b' }, withdrawn: { pool: 'a' } };
    expect(labelsMissedBy(pod({ nodeSelector: { pool: 'a' } }), 'n', state)).toEqual(['pool=a']);
  });
});

describe('a pod may stay', () => {
  test.each<[string, Pod]>([
    ['when it asks for nothing', pod({})],
    ['when it asks for a label that is there', pod({ nodeSelector: { zone: 'a' } })],
    ['when it asks for a label that rollcall did not withdraw', pod({ nodeSelector: { disk: 'ssd' } })],
    ['when it did not fit before either', pod({ nodeSelector: { gpu: 'true', zone: 'b' } })],
    ['when it asks for another value of the label', pod({ nodeSelector: { gpu: 'false' } })],
    [
      'when it asks for the absence of the label',
      requiring({ matchExpressions: [{ ...exists('gpu'), operator: 'DoesNotExist' }] }),
    ],
    [
      'when another of its terms still holds',
      requiring({ matchExpressions: [exists('gpu')] }, { matchExpressions: [exists('zone')] }),
    ],
    ['when it belongs to a DaemonSet', pod(wantsGpu, { ownerReferences: [{ kind: 'DaemonSet', controller: true }] })],
    ['when the kubelet runs it from a file', pod(wantsGpu, { annotations: { 'kubernetes.io/config.mirror': 'hash' } })],
    ['when it has succeeded', pod(wantsGpu, {}, 'Succeeded')],
    ['when it has failed', pod(wantsGpu, {}, 'Failed')],
    ['when it is being deleted', pod(wantsGpu, { deletionTimestamp: '2026-01-01T00:00:00Z' })],
  ])('%s', (_when, each) => {
    expect(labelsMissedBy(each, 'n', gone)).toEqual([]);
  });

  test('when the label is back', () => {
    expect(labelsMissedBy(pod(wantsGpu), 'n', { ...gone, labels: { gpu: 'true' } })).toEqual([]);
  });

  test('but not because something else than a DaemonSet owns it', () => {
    const owned = pod(wantsGpu, { ownerReferences: [{ kind: 'ReplicaSet', controller: true }, { kind: 'DaemonSet' }] });
    expect(labelsMissedBy(owned, 'n', gone)).toEqual(['gpu=true']);
  });
});
