import { digestOf } from '@rollcall/common/digest.ts';
import type { ServiceList } from '@rollcall/common/report.ts';
import { probeChecksOf, type Service } from '../model/services.ts';
import { wireProbe } from '../model/wire-probe.ts';
import type { ObservedPod } from './observed-pod.ts';
import { servicesToProbe } from './probe-targets.ts';

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
