import { digestOf } from '@rollcall/common/digest.ts';
import type { ProbeTarget, ServiceList, ServiceToProbe } from '@rollcall/common/report.ts';
import { podsChecksOf, probeChecksOf, type Service, type ServiceProbe } from '../model/services.ts';
import { wireProbe } from '../model/wire-probe.ts';
import { type ObservedPod, podsOf } from './observed-pod.ts';

const LOOPBACK = '127.0.0.1';

/** Characters of the digest of a check. */
const DIGEST_LENGTH = 16;

/** Addresses of pods that an agent is told for one service; the bound of the list of services counts on it. */
export const POD_ADDRESSES_MAX = 16;

/** Kinds that ask for what is the same for every pod, whatever the pods of the service. */
const WITHOUT_PODS: readonly string[] = ['dns', 'kubernetesService'];

/**
 * Returns what the agent of a node is to probe, check by check, and where. Of several pods the one that is not terminating
 * counts, and one that is ready before one that is not yet. What cannot be probed is left out; a probe of a service that
 * needs no pods goes to the address of the node, which the agent knows.
 */
export function servicesToProbe(services: readonly Service[], pods: readonly ObservedPod[]): ServiceToProbe[] {
  return services.flatMap((service) => {
    const own = podsOf(service, pods);
    return probeChecksOf(service).flatMap(({ id: name, probe }): ServiceToProbe[] => {
      if (!canProbe(service, probe, pods)) return [];
      const target = targetOf(probe, own);
      const how = { name, digest: checkDigest(name, probe, target), ...wireProbe(probe).how };
      return [target ? { ...how, target, ...addressesOf(own, target) } : { ...how, ...withPort(probe) }];
    });
  });
}

/** Whether there is anything to probe on a node with these pods: a service that checks pods is not probed elsewhere. */
export function canProbe(service: Service, probe: ServiceProbe, pods: readonly ObservedPod[]): boolean {
  const needsPods = podsChecksOf(service).some((check) => !check.pods.optional);
  if (!needsPods || WITHOUT_PODS.includes(probe.spec.kind)) return true;
  const own = podsOf(service, pods);
  // A socket on the node is there whatever the address of the pod, if there is one at all.
  return probe.port === undefined ? own.length > 0 : targetOf(probe, own) !== undefined;
}

/** The address is part of the check: a verdict on the pod before says nothing about its successor. */
function checkDigest(name: string, probe: ServiceProbe, target: ProbeTarget | undefined): string {
  return digestOf({ name, how: wireProbe(probe).digest, target, port: probe.port }).slice(0, DIGEST_LENGTH);
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

/** The agent knows the address of its node. */
function withPort(probe: ServiceProbe): Pick<ServiceToProbe, 'probe'> {
  const { how } = wireProbe(probe);
  return { probe: { ...how.probe, ...(probe.port === undefined ? {} : { port: probe.port }) } };
}

/** The target comes first, since the agent asks at no address that is left out. */
function addressesOf(pods: readonly ObservedPod[], { host }: ProbeTarget): Pick<ServiceToProbe, 'podAddresses'> {
  const own = new Set(pods.flatMap(({ podIP, hostIP }) => [podIP, hostIP]).filter((address) => address !== ''));
  const first = own.delete(host) ? [host] : [];
  return { podAddresses: [...first, ...[...own].sort()].slice(0, POD_ADDRESSES_MAX).sort() };
}

function rank({ ready, terminating }: ObservedPod): number {
  return (terminating ? 0 : 2) + (ready ? 1 : 0);
}

/**
 * The list of services for the agent of a node, by name, so that another leader makes the same. Its digest is made of
 * the digests of the checks: nothing that is large is read for each node.
 */
export function serviceList(services: readonly Service[], pods: readonly ObservedPod[]): ServiceList {
  const probes = new Map(services.flatMap(probeChecksOf).map(({ id, probe }) => [id, wireProbe(probe)]));
  const toProbe = servicesToProbe(services, pods).sort((a, b) => (a.name < b.name ? -1 : 1));
  const bundles = toProbe.flatMap(({ name }) => probes.get(name)?.caBundle ?? []);
  const servicesDigest = digestOf(toProbe.map(({ name, digest, podAddresses }) => ({ name, digest, podAddresses })));
  return {
    services: toProbe,
    ...(bundles.length > 0 ? { caBundles: Object.fromEntries(bundles.map(({ key, text }) => [key, text])) } : {}),
    servicesDigest,
  };
}
