import type { NodeSummary, PlannedNode, ServiceDocument } from '@rollcall/common/console.ts';
import { plannedChanges } from '../../decide/intent/planned-changes.ts';
import type { ServiceTally } from '../../decide/service-tally.ts';
import type { Service } from '../../model/services.ts';
import type { ServiceRegistry } from '../../state/services/service-registry.ts';
import { planDocument } from './node-document.ts';
import type { NodeQueries } from './node-queries.ts';

/** A node in a line. */
export function nodeSummary(nodes: NodeQueries, name: string): NodeSummary | undefined {
  const evaluation = nodes.evaluate(name);
  if (!evaluation) return undefined;
  const { evaluated } = evaluation;
  const { unwritable, contested } = nodes.skippedOn(name);
  const { pool, freshness, agentVersion } = evaluated;
  const readiness = [...evaluated.readiness];
  return {
    name,
    ...(pool === undefined ? {} : { pool }),
    agent: freshness.state,
    ...(freshness.state === 'silent' && freshness.guard !== undefined ? { guard: freshness.guard } : {}),
    ...(agentVersion ? { agentVersion } : {}),
    services: Object.fromEntries(readiness.map(([service, { state }]) => [service, state])),
    heldBack: readiness.filter(([, { damping }]) => damping).map(([service]) => service),
    contested: contested.map(({ key }) => key),
    skipped: unwritable.map(({ key }) => key),
    pending: nodes.planOf(evaluation) !== undefined,
  };
}

/** The pending writes, node by node; `undefined` for a node without any. */
export function* plannedNodes(nodes: NodeQueries): Iterable<PlannedNode | undefined> {
  for (const name of nodes.names()) {
    const evaluation = nodes.evaluate(name);
    const plan = evaluation && nodes.planOf(evaluation);
    if (!plan) {
      yield undefined;
      continue;
    }
    const { node, intent } = evaluation;
    const reasons = Object.fromEntries([...intent].map(([key, { reason }]) => [key, reason]));
    yield { name, changes: plannedChanges(plan, node, intent), ...planDocument(plan), reasons };
  }
}

/** The services that are in force, and the NodeServices that are not. */
export function serviceDocuments(serviceRegistry: ServiceRegistry, tally: ServiceTally): ServiceDocument[] {
  const inForce = serviceRegistry.services().map((service) => serviceDocument(service, tally));
  const refused = serviceRegistry.objects().flatMap((object) => {
    const problem = serviceRegistry.refusalOf(object);
    return problem ? [{ ...serviceDocument(object.service, tally), accepted: false, problem }] : [];
  });
  return [...inForce, ...refused];
}

function serviceDocument(service: Service, tally: ServiceTally): ServiceDocument {
  const { name, mode, publish, origin } = service;
  const { label, taint, condition } = publish;
  const { ready, 'not-ready': notReady, unknown } = tally.count(name);
  return {
    name,
    origin: origin.kind === 'built-in' ? 'built-in' : 'NodeService',
    accepted: true,
    mode,
    publish: {
      ...(label === undefined ? {} : { label }),
      ...(taint ? { taint: taint.key } : {}),
      ...(condition === undefined ? {} : { condition }),
    },
    evidence: evidenceOf(service),
    nodes: { ready, notReady, unknown },
  };
}

function evidenceOf({ pods, probe, csiDriver }: Service): string[] {
  const evidence: string[] = [];
  if (pods) {
    const controller = pods.daemonSet === undefined ? '' : ` of the DaemonSet ${pods.daemonSet}`;
    const says = pods.optional ? 'shows where the service is' : 'is Ready and not terminating';
    evidence.push(`a pod${controller} in ${pods.namespace} on the node ${says}`);
  }
  if (probe) {
    evidence.push(
      `the agent's probe succeeds: ${probe.spec.kind}${probe.port === undefined ? '' : `, port ${probe.port}`}`,
    );
  }
  if (csiDriver !== undefined) evidence.push(`the CSINode lists ${csiDriver}`);
  return evidence;
}
