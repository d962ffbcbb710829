import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { type KubeClient, type KubeRequest, KubeStatusError } from '../../kube/client.ts';
import { LeaderRequests } from '../../kube/leader-requests.ts';
import type { Pod } from '../../kube/objects.ts';
import type { EventNews } from '../events/event-object.ts';
import { Evictor, type EvictorOptions } from './evictor.ts';
import type { NodeState } from './misplaced-pods.ts';

export const GPU_GONE: NodeState = { labels: {}, withdrawn: { gpu: 'true' } };
const BLOCKED = { details: { causes: [{ reason: 'DisruptionBudget', message: 'The disruption budget b says no' }] } };

export function refusal(status: number, retryAfterMs?: number): KubeStatusError {
  return new KubeStatusError(status, {}, retryAfterMs, {});
}

/** The error of a PodDisruptionBudget that blocks the eviction. */
export function blocked(retryAfterMs?: number): KubeStatusError {
  return new KubeStatusError(429, BLOCKED, retryAfterMs, {});
}

/** An evictor with time that is moved by hand, and pods that vanish when they are evicted. */
export function evictorRig(options: Partial<EvictorOptions> = {}) {
  const clock = new FakeClock();
  const pods = new Map<string, Pod>();
  const states = new Map<string, NodeState>();
  const news: EventNews[] = [];
  const requests: { atMs: number; what: string }[] = [];
  /** Of the evictions. */
  const timeoutsMs: (number | undefined)[] = [];
  const rig = {
    remainingMs: 10_000,
    /** What the API server answers to an eviction: `undefined` to do it. */
    answer: (_name: string): unknown => undefined,
    listError: undefined as unknown,
  };
  const controller = new AbortController();
  const registry = new Registry();

  async function request(asked: KubeRequest): Promise<unknown> {
    const what =
      asked.method === 'GET' ? `list ${asked.query?.['fieldSelector']}` : `evict ${asked.path.split('/')[6]}`;
    requests.push({ atMs: clock.monotonic(), what });
    if (asked.method === 'GET') {
      if (rig.listError !== undefined) throw rig.listError;
      const node = asked.query?.['fieldSelector']?.split('=')[1];
      return {
        metadata: { resourceVersion: '1' },
        items: [...pods.values()].filter((pod) => pod.spec?.nodeName === node),
      };
    }
    timeoutsMs.push(asked.timeoutMs);
    const name = asked.path.split('/')[6] ?? '';
    const error = await rig.answer(name);
    if (error !== undefined) throw error;
    pods.delete(name);
    return { kind: 'Status' };
  }

  const client = { request: request as KubeClient['request'] };
  const fence = { remainingMs: () => rig.remainingMs };
  const leaderRequests = new LeaderRequests({ client, fence, signal: controller.signal });
  const evictor = new Evictor({
    client,
    requests: leaderRequests,
    clock,
    random: () => 0.5,
    signal: controller.signal,
    logger: silentLogger(),
    registry,
    record: (each) => news.push(each),
    stateOf: (node) => states.get(node),
    dryRun: false,
    delayMs: 0,
    ...options,
  });

  return Object.assign(rig, {
    clock,
    evictor,
    settled: () => leaderRequests.settled(),
    pods,
    states,
    news,
    timeoutsMs,
    controller,
    /** Puts pods that select the label onto a node, and lets the node lose it. */
    lose(node: string, ...names: string[]) {
      states.set(node, GPU_GONE);
      for (const name of names) {
        const metadata = { name, namespace: 'default', uid: `uid-${name}`, resourceVersion: '1' };
        pods.set(name, { metadata, spec: { nodeName: node, nodeSelector: { gpu: 'true' } } });
      }
      evictor.consider(node);
    },
    /** What was asked of the API server since this was last called. */
    asked() {
      return requests.splice(0).map(({ what }) => what);
    },
    /** The same, with when. */
    timed() {
      return requests.splice(0);
    },
    async metric(name: string) {
      const text = await registry.getSingleMetricAsString(`rollcall_coordinator_${name}`);
      return text.split('\n').filter((line) => !line.startsWith('#') && line !== '');
    },
  });
}
