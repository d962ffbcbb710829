import { WATCHED } from '@rollcall/common/watched-resources.ts';
import type { CsiNode } from '../kube/objects.ts';
import { createReflector, type Reflector, type ReflectorOptions } from '../kube/reflector.ts';
import { needs, podsChecksOf, type Service, watchedPodsOf } from '../model/services.ts';
import { observeCsiNode } from '../state/csi-nodes.ts';
import type { Fleet } from '../state/fleet.ts';
import { type ObservedPod, observePod } from '../state/observed-pod.ts';
import { notPermitted, PodWatches, REFUSED_RETRY_MS, watchOf } from './pod-watches.ts';

export type ServiceWatchOptions = Omit<ReflectorOptions<never>, 'path' | 'handlers'> & {
  fleet: Fleet;
  services: () => readonly Service[];
};

/** Watches what services have as evidence: pods, each namespace once however many want them, and CSINodes if any does. */
export class ServiceWatches {
  readonly #options: ServiceWatchOptions;
  readonly #pods: PodWatches<ObservedPod>;
  #csiNodes: Reflector | undefined;
  #isRunning = false;

  constructor(options: ServiceWatchOptions) {
    const { fleet, services: _services, ...shared } = options;
    this.#options = options;
    this.#pods = new PodWatches({
      ...shared,
      index: fleet.servicePods,
      observe: observePod,
      isNeeded: (namespace) => this.#builtIn().includes(namespace),
    });
    this.update();
  }

  run(): void {
    this.#isRunning = true;
    this.#pods.run();
    void this.#csiNodes?.run();
  }

  /** The services are others than before. */
  update(): void {
    const { services } = this.#options;
    this.#pods.want(services().flatMap(watchedPodsOf));
    if (services().some((service) => needs(service, 'csiNodes'))) this.#watchCsiNodes();
  }

  /** Whether what Gitpod's services, and the like, depend on was listed. */
  hasSynced(): boolean {
    return this.#builtIn().every((namespace) => this.#pods.wasSynced(namespace));
  }

  relist(olderThanMs: number): void {
    for (const each of [this.#pods, this.#csiNodes]) each?.relist(olderThanMs);
  }

  /** Whether their last list that was asked for has come. */
  hasRelisted(): boolean {
    return this.#builtIn().every((namespace) => this.#pods.hasRelisted(namespace));
  }

  isFailing(): boolean {
    return this.#builtIn().some((namespace) => this.#pods.isFailing(namespace));
  }

  /** Why what a service depends on may not be watched, so that nothing new is known of it; for people. */
  problemOf(service: Service): string | undefined {
    for (const { namespace } of watchedPodsOf(service)) {
      const problem = this.#pods.problemOf(namespace);
      if (problem !== undefined) return problem;
    }
    if (!needs(service, 'csiNodes') || !this.#csiNodes?.isRefused()) return undefined;
    return notPermitted(WATCHED.csiNodes);
  }

  /** The namespaces of the pods of built-in services. */
  #builtIn(): string[] {
    const own = this.#options.services().filter(({ origin }) => origin.kind === 'built-in');
    return own.flatMap(podsChecksOf).map(({ settings }) => settings.namespace);
  }

  #watchCsiNodes(): void {
    if (this.#csiNodes) return;
    const { fleet, services: _services, ...shared } = this.#options;
    this.#csiNodes = createReflector({
      ...shared,
      ...watchOf(WATCHED.csiNodes),
      refusedRetryMs: REFUSED_RETRY_MS,
      handlers: fleet.csiNodeHandlers,
      transform: (raw) => observeCsiNode(raw as CsiNode),
    });
    if (this.#isRunning) void this.#csiNodes.run();
  }
}
