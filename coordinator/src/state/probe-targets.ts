import { digestOf } from '@rollcall/common/digest.ts';
import type { ProbeTarget, ServiceList, ServiceToProbe } from '@rollcall/common/report.ts';
import {
  dependsOnStart,
  isOfCluster,
  podsChecksFor,
  probeChecksOf,
  type Service,
  type ServiceProbe,
} from '../model/services.ts';
import { wireProbe } from '../model/wire-probe.ts';
import { isOfNode, type ObservedPod, podsOf } from './observed-pod.ts';

/** The agent tries the loopback addresses of both families. */
const LOOPBACK = 'localhost';

/** Characters of the digest of a check. */
const DIGEST_LENGTH = 16;

/** Addresses of pods that an agent is told for one service; the bound of the list of services counts on it. */
export const POD_ADDRESSES_MAX = 16;

/**
 * Returns what the agent of a node is to probe, check by check, and where. Of several pods the one that is not terminating
 * counts, and one that is ready before one that is not yet. What cannot be probed is left out; a probe of a service that
 * needs no pods goes to the address of the node, which the agent knows.
 */
export function servicesToProbe(
  services: readonly Service[],
  pods: readonly ObservedPod[],
  createdAtMs = 0,
): ServiceToProbe[] {
  return services.flatMap((service) => {
    const found = podsOf(service, pods);
    const known = lastOf.get(service);
    if (found.length > 0 && known?.pods === found && known.createdAtMs === createdAtMs) return known.probes;
    const node = { createdAtMs };
    const ofNode = (all: readonly ObservedPod[]) =>
      all.every((pod) => isOfNode(pod, node)) ? all : all.filter((pod) => isOfNode(pod, node));
    const probes = probeChecksOf(service).flatMap(({ id: name, settings: probe }): ServiceToProbe[] => {
      const own = ofNode(probe.of === undefined ? found : podsFor(service, probe, pods));
      const place = placeOf(probe, own);
      const { target } = place;
      if (!canProbeAt(service, probe, { own, ...place })) return [];
      const how = { name, digest: checkDigest(name, probe, place), ...wireProbe(probe).how, ...startOf(place) };
      return [target ? { ...how, target, ...addressesOf(own, target) } : { ...how, ...withPort(probe) }];
    });
    lastOf.set(service, { pods: found, createdAtMs, probes });
    return probes;
  });
}

/** What was made of the pods of a service last: those of a crowded node stay the same list while others change there. */
const lastOf = new WeakMap<Service, { pods: readonly ObservedPod[]; createdAtMs: number; probes: ServiceToProbe[] }>();

/** Whether there is anything to probe on a node with these pods, or why not: none of it is there, or none has an address. */
export function canProbe(
  service: Service,
  probe: ServiceProbe,
  pods: readonly ObservedPod[],
): 'yes' | 'no-pod' | 'no-address' {
  const own = podsFor(service, probe, pods);
  if (canProbeAt(service, probe, { own, ...placeOf(probe, own) })) return 'yes';
  return own.length > 0 ? 'no-address' : 'no-pod';
}

function podsFor(service: Service, probe: ServiceProbe, pods: readonly ObservedPod[]): readonly ObservedPod[] {
  return podsOf({ checks: podsChecksFor(service, probe) }, pods);
}

function canProbeAt(
  service: Service,
  probe: ServiceProbe,
  { own, target, podStart }: Place & { own: readonly ObservedPod[] },
): boolean {
  if (dependsOnStart(probe)) return podStart !== undefined;
  const needed = podsChecksFor(service, probe).filter(({ settings }) => !settings.optional);
  if (needed.length === 0 || isOfCluster(probe)) return true;
  const isRequired = needed.some((check) => service.checks.includes(check));
  // Where other checks may take the place of that of the pods, what is on the node itself is asked without them.
  const isOnNode = probe.port === undefined || probe.host === 'Node';
  if (isOnNode && !isRequired) return true;
  // A socket on the node is there whatever the address of the pod, if there is one at all.
  return probe.port === undefined ? own.length > 0 : target !== undefined;
}

/** What of the pods of a service is part of a check: a verdict on the pod before says nothing about its successor. */
type Place = { target: ProbeTarget | undefined; podStart: string | undefined };

function checkDigest(name: string, probe: ServiceProbe, { target, podStart }: Place): string {
  const place = { target, ...startOf({ podStart }), port: probe.port };
  return digestOf({ name, how: wireProbe(probe).digest, ...place }).slice(0, DIGEST_LENGTH);
}

function startOf({ podStart }: Pick<Place, 'podStart'>): Pick<ServiceToProbe, 'podStart'> {
  return podStart === undefined ? {} : { podStart };
}

function placeOf(probe: ServiceProbe, pods: readonly ObservedPod[]): Place {
  const podStart = dependsOnStart(probe) ? bestOf(pods, ({ startTime }) => startTime !== '')?.startTime : undefined;
  return { target: targetOf(probe, pods), podStart };
}

function targetOf({ port, host }: ServiceProbe, pods: readonly ObservedPod[]): ProbeTarget | undefined {
  if (port === undefined) return undefined;
  if (host === 'Loopback') return { host: LOOPBACK, port };
  const best = bestOf(pods, (pod) => addressOf(pod, host) !== '');
  return best && { host: addressOf(best, host), port };
}

function bestOf(pods: readonly ObservedPod[], counts: (pod: ObservedPod) => boolean): ObservedPod | undefined {
  const isBetter = (a: ObservedPod, b: ObservedPod) => rank(a) - rank(b) || (a.uid < b.uid ? 1 : -1);
  let best: ObservedPod | undefined;
  for (const pod of pods) if (counts(pod) && (!best || isBetter(pod, best) > 0)) best = pod;
  return best;
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
  const least = new Least(POD_ADDRESSES_MAX);
  let isOwn = false;
  let before = '';
  for (const { podIP, hostIP } of pods) {
    if (podIP === host || hostIP === host) isOwn = true;
    if (podIP !== '' && podIP !== host) least.add(podIP);
    // Pods of a node have the address of the node alike.
    if (hostIP !== '' && hostIP !== host && hostIP !== before) least.add(hostIP);
    before = hostIP;
  }
  const first = isOwn ? [host] : [];
  return { podAddresses: [...first, ...least.texts].slice(0, POD_ADDRESSES_MAX).sort() };
}

/** Sorts after every address. */
const AFTER_ALL = '~';

/** The first addresses of many, each once. */
class Least {
  readonly texts: string[] = [];
  readonly #max: number;
  #last = AFTER_ALL;

  constructor(max: number) {
    this.#max = max;
  }

  add(text: string): void {
    if (text >= this.#last || this.texts.includes(text)) return;
    this.texts.push(text);
    if (this.texts.length < this.#max) return;
    this.texts.sort().splice(this.#max);
    this.#last = this.texts.at(-1) ?? AFTER_ALL;
  }
}

function rank({ ready, terminating }: ObservedPod): number {
  return (terminating ? 0 : 2) + (ready ? 1 : 0);
}

/**
 * The list of services for the agent of a node, by name, so that another leader makes the same. Its digest is made of
 * the digests of the checks: nothing that is large is read for each node.
 */
export function serviceList(services: readonly Service[], pods: readonly ObservedPod[], createdAtMs = 0): ServiceList {
  const probes = new Map(services.flatMap(probeChecksOf).map(({ id, settings }) => [id, wireProbe(settings)]));
  const toProbe = servicesToProbe(services, pods, createdAtMs).sort((a, b) => (a.name < b.name ? -1 : 1));
  const bundles = toProbe.flatMap(({ name }) => probes.get(name)?.caBundle ?? []);
  const servicesDigest = digestOf(toProbe.map(({ name, digest, podAddresses }) => ({ name, digest, podAddresses })));
  return {
    services: toProbe,
    ...(bundles.length > 0 ? { caBundles: Object.fromEntries(bundles.map(({ key, text }) => [key, text])) } : {}),
    servicesDigest,
  };
}
