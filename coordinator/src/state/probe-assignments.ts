import type { ServiceList, ServiceReport } from '@rollcall/common/report.ts';
import { selects } from '../model/label-selector.ts';
import type { Service } from '../model/services.ts';
import type { NodeRecord } from './node-record.ts';
import type { ObservedNode } from './observed-node.ts';
import type { ObservedPod } from './observed-pod.ts';
import { serviceList } from './probe-targets.ts';
import { isUnsettled } from './report-pacing.ts';
import { hasStarted, startedServices } from './started-services.ts';

/** Inputs of an assignment. Each keeps its identity as long as it is unchanged. */
type AssignmentInputs = {
  /** All services that are in force. */
  services: readonly Service[];
  node: ObservedNode | undefined;
  /** The pods of services on the node. */
  pods: readonly ObservedPod[];
};

type Made = AssignmentInputs & {
  /** The services that the node is for and that are to be evaluated there. */
  own: readonly Service[];
  assigned: ServiceList;
  heard?: Heard;
};

/** What the agent said last, by service, of the checks as they are assigned, and whether a service is not ready by it. */
type Heard = { content: readonly ServiceReport[]; reports: ReadonlyMap<string, ServiceReport>; isUnsettled: boolean };

const NO_REPORTS: readonly ServiceReport[] = [];

/**
 * What the agents of nodes are told to probe, in one term. It is made when something differs that it is made of, and not
 * at each heartbeat.
 */
export class ProbeAssignments {
  readonly #made = new WeakMap<NodeRecord, Made>();

  /**
   * The list of services for the agent of this node, what the agent said of these checks, and whether its next report
   * should come soon. A report that was made for another check, such as the probe before an edit, is left out.
   */
  of(record: NodeRecord, inputs: AssignmentInputs): { assigned: ServiceList } & Omit<Heard, 'content'> {
    const before = this.#made.get(record);
    const isSame = before?.services === inputs.services && before.node === inputs.node && before.pods === inputs.pods;
    const made = isSame ? before : make(inputs, before);
    if (!isSame) this.#made.set(record, made);
    const content = record.sessions.content?.services ?? NO_REPORTS;
    if (made.heard?.content !== content) made.heard = hear(made, content);
    const { reports, isUnsettled: isNotReady } = made.heard;
    return { assigned: made.assigned, reports, isUnsettled: isNotReady };
  }
}

/** Most changes of a Node, such as those that rollcall writes, leave the services for it, and so what was made of them. */
function make({ services, node, pods }: AssignmentInputs, before: Made | undefined): Made {
  const own = node ? servicesFor(node, services) : [];
  const hasSamePods = before?.pods === pods && before.node?.createdAtMs === node?.createdAtMs;
  if (hasSamePods && isSameList(before.own, own)) return { ...before, services, node };
  return { services, node, pods, own, assigned: serviceList(own, pods, node?.createdAtMs) };
}

function isSameList<T>(list: readonly T[], other: readonly T[]): boolean {
  return list.length === other.length && list.every((each, index) => each === other[index]);
}

function hear({ own, pods, assigned }: Made, content: readonly ServiceReport[]): Heard {
  const digests = new Map(assigned.services.map(({ name, digest }) => [name, digest]));
  const current = content.filter(({ name, digest }) => digest !== undefined && digest === digests.get(name));
  const reports = new Map(current.map((report) => [report.name, report]));
  return { content, reports, isUnsettled: isUnsettled(own, pods, current) };
}

function servicesFor(node: ObservedNode, services: readonly Service[]): Service[] {
  const started = startedServices(node);
  return services.filter((service) => selects(service.nodeSelector, node.labels) && !hasStarted(service, started));
}
