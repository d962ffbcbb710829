import type { ProbeTarget, ServiceToProbe } from '@rollcall/common/report.ts';
import type { Service, ServiceProbe } from '../setup/services.ts';
import type { ObservedPod } from './observed-pod.ts';
import { podsOf } from './service-pods.ts';

const LOOPBACK = '127.0.0.1';

/**
 * What the agent of a node is to probe, and where. Of several pods the one that is not on its way out counts, and one that
 * is ready before one that is not yet. Where a service has no pod that could be probed it is left out; one that needs no
 * pods is looked for at the address of the node, which the agent knows.
 */
export function servicesToProbe(services: readonly Service[], pods: readonly ObservedPod[]): ServiceToProbe[] {
  return services.flatMap((service): ServiceToProbe[] => {
    const { name, probe } = service;
    if (!probe) return [];
    const own = podsOf(service, pods);
    const how = { name, ...howOf(probe) };
    const target = targetOf(probe, own);
    if (target) return [{ ...how, target, ...addressesOf(own) }];
    if (!service.pods) return [{ ...how, ...withPort(probe) }];
    if (service.pods.optional) return [how];
    // A socket on the node is there whatever the address of the pod, if there is one at all.
    return probe.port === undefined && own.length > 0 ? [how] : [];
  });
}

/** The same for older agents, which know how to probe each service, and are told where. */
export function probeTargets(toProbe: readonly ServiceToProbe[]): Record<string, ProbeTarget> {
  return Object.fromEntries(toProbe.flatMap(({ name, target }) => (target ? [[name, target]] : [])));
}

function targetOf({ port, host }: ServiceProbe, pods: readonly ObservedPod[]): ProbeTarget | undefined {
  if (port === undefined) return undefined;
  if (host === 'Loopback') return { host: LOOPBACK, port };
  const best = pods
    .filter((pod) => addressOf(pod, host) !== '')
    .sort((a, b) => rank(b) - rank(a) || (a.uid < b.uid ? -1 : 1))[0];
  return best && { host: addressOf(best, host), port };
}

/** A pod on the network of its node has the address of the node: it is the same, whichever was meant. */
function addressOf({ podIP, hostIP }: ObservedPod, host: ServiceProbe['host']): string {
  return host === 'Node' ? hostIP : podIP;
}

function howOf({ spec, port: _port, host: _host, ...times }: ServiceProbe): Omit<ServiceToProbe, 'name'> {
  return { ...(spec ? { probe: spec } : {}), ...times };
}

/** The agent knows the address of its node. */
function withPort({ spec, port }: ServiceProbe): Pick<ServiceToProbe, 'probe'> {
  return spec && port !== undefined ? { probe: { ...spec, port } } : {};
}

function addressesOf(pods: readonly ObservedPod[]): Pick<ServiceToProbe, 'podAddresses'> {
  const own = pods.flatMap(({ podIP, hostIP }) => [podIP, hostIP]);
  return { podAddresses: [...new Set(own)].filter((address) => address !== '').sort() };
}

function rank({ ready, terminating }: ObservedPod): number {
  return (terminating ? 0 : 2) + (ready ? 1 : 0);
}
