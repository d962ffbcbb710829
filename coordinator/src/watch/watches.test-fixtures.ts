import { Registry } from '@rollcall/common/metrics.ts';
import { createKubeMetrics } from '../kube/kube-metrics.ts';
import { Collection } from '../state/collection.ts';
import { fleetWith } from '../state/fleet.test-fixtures.ts';
import { toldHolds } from '../state/holds/holds.test-fixtures.ts';
import type { RuleQuestions } from '../state/on-demand-objects.ts';
import type { ObservedNodeService } from '../state/services/node-service.ts';
import { MemoryApi, podsPath } from './memory-api.test-fixtures.ts';
import { Watches, type WatchOptions } from './watches.ts';

export const NODES = '/api/v1/nodes';
export const AGENT_PODS = podsPath('rollcall');
export const WORKSPACE_PODS = podsPath('workspaces');
export const POOL_LABELS = '/apis/rollcall.dev/v1alpha1/namespaces/pools/nodepoollabels';
export const POOL_SETS = '/apis/labels.banzaicloud.io/v1alpha1/namespaces/pools/nodepoollabelsets';
export const WORKSPACES = '/apis/workspace.gitpod.io/v1/namespaces/gitpod/workspaces';
export const NODE_SERVICES = '/apis/rollcall.dev/v1alpha1/nodeservices';
export const NODE_HOLDS = '/apis/rollcall.dev/v1alpha1/nodeholds';
export const SLICES = '/apis/resource.k8s.io/v1/resourceslices';
export const NODE_FEATURES = '/apis/nfd.k8s-sigs.io/v1alpha1/nodefeatures';

export const CONFIG: WatchOptions['config'] = {
  agents: true,
  startupGateDaemonSets: false,
  gitpod: true,
  namespace: 'gitpod',
  placing: {
    ...{ namespace: 'workspaces', podSelector: { matchLabels: { component: 'workspace' } } },
    ...{ services: undefined, nodeSelector: undefined },
  },
  poolNamespace: 'pools',
  agentServiceAccount: 'system:serviceaccount:rollcall:rollcall-agent',
};

/** All watches, on an API server in memory, and what their receivers were told. */
export function allWatches(change: Partial<WatchOptions> = {}) {
  const api = new MemoryApi();
  const told: string[] = [];
  const fleet = fleetWith({ clock: api.clock });
  const { holds } = toldHolds();
  const nodeServices = new Collection<ObservedNodeService>({ at: ({ name }) => name });
  const listed = (what: string, all: Iterable<{ name: string }>) =>
    void told.push(`${what}: ${[...all].map(({ name }) => name).join() || 'none'}`);
  nodeServices.onChange({ changed: () => {}, listed: () => listed('services', nodeServices.all()) });
  let questions: RuleQuestions | undefined;
  const watches = new Watches({
    ...api.shared,
    config: CONFIG,
    fleet,
    holds,
    nodeServices,
    services: () => [],
    rules: () => questions,
    wholeNodes: () => false,
    workspacePodHandlers: {
      onReplace: (all) => listed('workspace pods', all),
      onUpsert: () => {},
      onDelete: () => {},
    },
    metrics: createKubeMetrics(new Registry()),
    onRecovered: (outageMs) => told.push(`recovered after ${outageMs} ms`),
    ...change,
  });
  const settle = () => api.clock.advance(0);
  /** What rules ask for from now on: nothing, if nothing else is given. */
  const ask = (asked: Partial<RuleQuestions> = {}) => {
    questions = { usesDra: false, nfdNames: [], declaredFeatures: [], ...asked };
    watches.update();
  };
  return { api, told, fleet, holds, watches, ask, settle };
}

/** All watches, with everything listed. */
export async function runningWatches(change: Partial<WatchOptions> = {}) {
  const all = allWatches(change);
  const running = all.watches.run();
  await all.settle();
  return { ...all, running };
}
