import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import type { KubeRequest } from '../kube/client.ts';
import { LeaderRequests } from '../kube/leader-requests.ts';
import type { CoordinatorConfig } from '../model/config.ts';
import { fleetWith } from '../state/fleet.test-fixtures.ts';
import { type CreateSubscribersOptions, createSubscribers } from './create-subscribers.ts';

/** All subscribers, with an API server in memory whose pods `p1`, `p2`, … need the label `gpu`. */
export function subscribersRig(config: Partial<CoordinatorConfig> = {}, podCount = 1) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const events: unknown[] = [];
  const requests: string[] = [];
  const calls: string[] = [];
  const metadata = { namespace: 'default', resourceVersion: '1' };
  const pods = Array.from({ length: podCount }, (_, index) => ({
    metadata: { ...metadata, name: `p${index + 1}`, uid: `uid-${index + 1}` },
    spec: { nodeName: 'n', nodeSelector: { gpu: 'true' } },
  }));
  const fleet = fleetWith({ clock });
  /** The Node as it is from now on; without `gpu`, rollcall has taken the label away. */
  const setNode = (labels: Record<string, string>) => {
    const version = String(clock.monotonic() + requests.length + 1);
    const node = fleet.observe({ metadata: { name: 'n', uid: 'u', resourceVersion: version, labels } });
    fleet.nodeHandlers.onReplace([node]);
  };
  async function request(asked: KubeRequest): Promise<unknown> {
    if (asked.method === 'GET') return { metadata: { resourceVersion: '1' }, items: [...pods] };
    requests.push(`${asked.method} ${asked.path}`);
    if (asked.path.endsWith('/events')) events.push(asked.body);
    const name = asked.path.split('/')[6];
    const at = pods.findIndex((pod) => pod.metadata.name === name);
    if (at >= 0) pods.splice(at, 1);
    return {};
  }
  const client: CreateSubscribersOptions['client'] = {
    request: request as CreateSubscribersOptions['client']['request'],
    stream: () => Promise.resolve(),
    close: () => {},
  };
  const leaderRequests = new LeaderRequests({ client, fence: { remainingMs: () => 10_000 }, signal: stop.signal });
  const options: CreateSubscribersOptions = {
    config: {
      readinessGate: 'label',
      evict: true,
      evictionDelaySeconds: 30,
      evictionsPerMinute: 60,
      notifyUrl: [],
      notifyNodes: [],
      dryRun: false,
      leaseNamespace: 'rollcall',
      leaseName: 'lease',
      ...config,
    } as CoordinatorConfig,
    environment: { ownNamespace: 'rollcall', podName: 'coordinator-0', podIp: undefined },
    client,
    requests: leaderRequests,
    fleet,
    evictable: (name) => {
      const labels = fleet.node(name)?.labels;
      return labels && { labels, withdrawn: labels['gpu'] ? {} : { gpu: 'true' } };
    },
    services: () => [],
    withheld: () => undefined,
    mustYield: () => false,
    onChanged: (node) => calls.push(`changed ${node}`),
    onRestart: () => calls.push('restart'),
    clock,
    random: () => 0.5,
    signal: stop.signal,
    logger: silentLogger(),
    registry: new Registry(),
  };
  /** The names of the pods that were evicted since this was last called. */
  const evicted = () => requests.splice(0).flatMap((line) => /pods\/(\w+)\/eviction$/.exec(line)?.[1] ?? []);
  const { registry } = options;
  return { ...createSubscribers(options), clock, stop, fleet, registry, events, requests, calls, setNode, evicted };
}
