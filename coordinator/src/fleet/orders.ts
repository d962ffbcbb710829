import type { ServiceList, ServiceReport } from '@rollcall/common/report.ts';
import { selects } from '../setup/label-selector.ts';
import type { Service } from '../setup/services.ts';
import { isUnsettled } from './attention.ts';
import type { NodeRecord } from './node-record.ts';
import type { ObservedNode } from './observed-node.ts';
import type { ObservedPod } from './observed-pod.ts';
import { serviceList } from './service-list.ts';
import { hasStarted, startedServices } from './started-services.ts';

/** What orders are made of. Each is the very same object as long as nothing of it changes. */
type Grounds = {
  /** All services that are in force. */
  services: readonly Service[];
  node: ObservedNode | undefined;
  /** Those of services on the node. */
  pods: readonly ObservedPod[];
};

type Made = Grounds & {
  /** The services that the node is for and that are to be judged there. */
  own: readonly Service[];
  told: ServiceList;
  /** Those of them that agents are told of. */
  toldOf: readonly Service[];
  /** Whether one is not ready, by what the agent said last. */
  unsettled?: { reports: readonly ServiceReport[]; is: boolean };
};

const NO_REPORTS: readonly ServiceReport[] = [];

/**
 * What the agents of nodes are told to probe, in one term. It is made when something differs that it is made of, and not
 * at each heartbeat.
 */
export class Orders {
  readonly #made = new WeakMap<NodeRecord, Made>();

  /** The list of services for the agent of this node, and whether its next report should come soon. */
  of(record: NodeRecord, grounds: Grounds): { told: Made['told']; services: readonly Service[]; isUnsettled: boolean } {
    const before = this.#made.get(record);
    const isSame =
      before?.services === grounds.services && before.node === grounds.node && before.pods === grounds.pods;
    const made = isSame ? before : make(grounds);
    if (!isSame) this.#made.set(record, made);
    const reports = record.boots.content?.services ?? NO_REPORTS;
    if (made.unsettled?.reports !== reports) {
      made.unsettled = { reports, is: isUnsettled(made.own, made.pods, reports) };
    }
    return { told: made.told, services: made.toldOf, isUnsettled: made.unsettled.is };
  }
}

function make({ services, node, pods }: Grounds): Made {
  const own = node ? servicesFor(node, services) : [];
  const told = serviceList(own, pods);
  const names = new Set(told.services.map(({ name }) => name));
  const toldOf = own.filter(({ name }) => names.has(name));
  return { services, node, pods, own, told, toldOf };
}

function servicesFor(node: ObservedNode, services: readonly Service[]): Service[] {
  const started = startedServices(node);
  return services.filter((service) => selects(service.nodeSelector, node.labels) && !hasStarted(service, started));
}
