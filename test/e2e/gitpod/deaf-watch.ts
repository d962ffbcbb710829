import { systemClock } from '@rollcall/common/clock.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { createRegistry } from '@rollcall/common/metrics.ts';
import { createKubeMetrics } from '@rollcall/coordinator/kube/kube-metrics.ts';
import { Collection } from '@rollcall/coordinator/state/collection.ts';
import { Fleet } from '@rollcall/coordinator/state/fleet.ts';
import { Holds } from '@rollcall/coordinator/state/holds/holds.ts';
import { Watches } from '@rollcall/coordinator/watch/watches.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { connect } from '../kube/rig.ts';

/** Watches as a coordinator does, three hundred times as fast, with a watch of workspaces that says nothing. */
export function watchWithDeafWorkspaces(controlPlane: ControlPlane) {
  const stop = new AbortController();
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() * 300 };
  const listedMs: number[] = [];
  const client = connect(controlPlane);
  const isWorkspaces = ({ path }: { path: string }) => path.endsWith('/workspaces');
  const fleet = new Fleet({
    clock,
    services: () => [],
    servicesKnown: () => true,
    poolLabels: [],
    windowMs: 30_000,
    guardPercent: 55,
    allAnnotations: false,
    annotationsOfInterest: new Set(),
  });
  const watches = new Watches({
    config: {
      agents: true,
      startupGateDaemonSets: false,
      gitpod: true,
      namespace: 'default',
      placing: { namespace: 'default', podSelector: undefined, services: undefined, nodeSelector: undefined },
      poolNamespace: 'rollcall',
      agentServiceAccount: 'system:serviceaccount:rollcall:rollcall-agent',
    },
    client: {
      ...client,
      request: (request) => {
        if (isWorkspaces(request)) listedMs.push(clock.monotonic());
        return client.request(request);
      },
      stream: (request, onObject) => {
        if (!isWorkspaces(request)) return client.stream(request, onObject);
        // The API server counts in its own seconds.
        const query = { ...request.query, timeoutSeconds: '1' };
        return client.stream({ ...request, query }, () => {});
      },
    },
    fleet,
    holds: new Holds(clock),
    services: () => [],
    nodeServices: new Collection({ at: ({ name }) => name }),
    rules: () => undefined,
    wholeNodes: () => false,
    workspacePodHandlers: undefined,
    clock,
    random: Math.random,
    signal: stop.signal,
    logger: silentLogger(),
    metrics: createKubeMetrics(createRegistry('rollcall_coordinator')),
    onRecovered: () => {},
  });
  const running = watches.run();
  return {
    fleet,
    listedAfterMs: () => (listedMs[1] ?? Number.NaN) - (listedMs[0] ?? Number.NaN),
    stop: async () => {
      stop.abort();
      await running;
      client.close();
    },
  };
}
