import { tolerates } from '@rollcall/common/tolerations.ts';
import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import type { Finding } from '../findings.ts';
import { count, listed } from '../text/count.ts';
import { type Check, result } from './check.ts';
import { known, orWhenMissing, type Read } from './evidence.ts';
import type { NodeService, PodSpec, PoolObject } from './objects.ts';

// What objects of the cluster make of what rollcall publishes, and what comes of none of them.

const SERVICE_LABELS = 'service.rollcall.dev/';
const GITPOD_LABEL = /^gitpod\.io\/(ws-daemon|registry-facade)_ready_ns_/;

/** The label of a NodeService; without `publish` it is named after the object. */
function labelOf({ metadata, spec }: NodeService): string | undefined {
  return spec?.publish ? spec.publish.label : `${SERVICE_LABELS}${metadata.name}`;
}

function selectedKeys({ nodeSelector = {}, affinity }: PodSpec = {}): string[] {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const expressions = terms.flatMap(({ matchExpressions = [] }) => matchExpressions);
  return [...Object.keys(nodeSelector), ...expressions.map(({ key }) => key)];
}

/** The controller of DaemonSets deletes the pods of a node that it no longer selects. */
export const daemonSetsSelect: Check = ({ daemonSets, nodeServices }) => {
  const labels = new Set(orWhenMissing(nodeServices, []).map(labelOf));
  const findings = known(daemonSets).flatMap(({ metadata, spec }): Finding[] => {
    const key = selectedKeys(spec?.template?.spec).find((each) => labels.has(each) || GITPOD_LABEL.test(each));
    if (key === undefined) return [];
    const text = `The DaemonSet ${metadata.namespace}/${metadata.name} selects nodes by ${key}: its pods are deleted whenever the label leaves a node, however briefly`;
    const cure =
      'let the NodeService publish a taint that these pods do not tolerate, which does not delete them, or select nodes by a label that stays';
    return [{ severity: 'warn', text, cure }];
  });
  return result(findings, 'no DaemonSet selects nodes by a label of a service');
};

/** A DaemonSet whose pods do not tolerate the startup taint cannot be waited for: its pods come after the gate has opened. */
export const daemonSetsTolerateGate: Check = ({ daemonSets, config }) => {
  const { startupGateDaemonSets } = orWhenMissing<Record<string, unknown>>(config, {});
  if (startupGateDaemonSets !== true) return { findings: [] };
  const gate = { key: STARTUP_TAINT, effect: 'NoSchedule' };
  const names = known(daemonSets)
    .filter(({ spec }) => !tolerates(spec?.template?.spec?.tolerations ?? [], gate))
    .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  if (names.length === 0) return { well: 'every DaemonSet tolerates the startup taint' };
  const text = `The startup gate does not wait for ${count(names.length, 'DaemonSet')} (TaintNotTolerated): ${listed(names)}`;
  const cure = `let their pods tolerate ${STARTUP_TAINT}:NoSchedule where nodes must not open before they are Ready`;
  return { findings: [{ severity: 'warn', text, cure }] };
};

/** Objects of pools in a namespace that the coordinator does not watch have neither a status nor an Event. */
export const poolObjectsWatched: Check = ({ config, namespace, nodePoolLabels, nodePoolLabelSets }) => {
  const settings = orWhenMissing<Record<string, unknown>>(config, {});
  const watched = String(settings['poolNamespace'] ?? namespace);
  const elsewhere = (kind: string, read: Read<PoolObject[]> = { value: [] }): Finding[] =>
    orWhenMissing(read, [])
      .filter(({ metadata }) => metadata.namespace !== watched)
      .map(({ metadata }) => ({
        severity: 'fail',
        text: `The ${kind} ${metadata.namespace}/${metadata.name} has no effect: rollcall watches those in ${watched} alone`,
        cure: `create it in ${watched}, or set coordinator.config.poolNamespace`,
      }));
  const findings = [
    ...elsewhere('NodePoolLabels', nodePoolLabels),
    ...elsewhere('NodePoolLabelSet', nodePoolLabelSets),
  ];
  return result(findings, `all labels of pools are in ${watched}, the namespace that rollcall watches`);
};

/** Karpenter reads do-not-disrupt for consolidation and drift, not for the end of a node's life. */
export const holdsAndExpiry: Check = ({ nodeHolds, karpenterPools }) => {
  const holds = orWhenMissing(nodeHolds, []);
  const expiring = orWhenMissing(karpenterPools, []).filter(({ spec }) => {
    const { expireAfter = 'Never' } = spec?.template?.spec ?? {};
    return expireAfter !== 'Never';
  });
  const findings: Finding[] = [];
  if (holds.length > 0 && expiring.length > 0) {
    const names = listed(expiring.map(({ metadata }) => metadata.name));
    findings.push({
      severity: 'warn',
      text: `${count(expiring.length, 'NodePool')} of Karpenter ${expiring.length === 1 ? 'has' : 'have'} an expireAfter, which removes held nodes as well: ${names}`,
      cure: 'set spec.template.spec.expireAfter to Never, or annotate the held pods with karpenter.sh/do-not-disrupt',
    });
  }
  return result(findings, `Karpenter's expiry removes no held node (${count(holds.length, 'NodeHold')})`);
};
