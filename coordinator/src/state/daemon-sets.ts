import { clean } from '@rollcall/common/clean.ts';
import type { DaemonSet, Pod } from '../kube/objects.ts';
import { EVERY_NODE, type OnNode } from './collection.ts';
import type { DaemonTemplate } from './daemon-placement.ts';
import { createIntern } from './intern.ts';
import { daemonSetOf, isOfNode } from './observed-pod.ts';

/** A DaemonSet that is not being deleted, trimmed to what decides where its pods belong. */
export type ObservedDaemonSet = OnNode & {
  labels: Readonly<Record<string, string>>;
  template: DaemonTemplate;
};

/** A pod of a DaemonSet on its node, or meant for it. There may be many: each field costs memory. */
export type ObservedDaemonPod = Omit<OnNode, 'uid'> & {
  /** Of its DaemonSet. */
  uid: string;
  /** In seconds since the epoch, which take less memory than milliseconds. */
  createdAtSeconds: number;
  /** When it became Ready, by the clock of its kubelet, in seconds since the epoch; 0 if it is not, or terminating. */
  readySinceSeconds: number;
  /** Why it is not Ready, in the words of Kubernetes, such as ImagePullBackOff. */
  problem?: string;
};

export function observeDaemonSet({ metadata, spec }: DaemonSet): ObservedDaemonSet {
  const { uid, namespace = '', name, labels = {}, deletionTimestamp } = metadata;
  const { nodeName, nodeSelector, affinity, hostNetwork, tolerations } = spec?.template?.spec ?? {};
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const template: DaemonTemplate = {
    ...(nodeName ? { nodeName } : {}),
    ...(nodeSelector ? { nodeSelector } : {}),
    ...(required ? { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } } } : {}),
    ...(hostNetwork ? { hostNetwork } : {}),
    ...(tolerations ? { tolerations } : {}),
  };
  return { uid, namespace, name, labels, template, node: deletionTimestamp === undefined ? EVERY_NODE : '' };
}

const intern = createIntern<string>();
const PROBLEM_LENGTH_MAX = 200;

/** Pods that no DaemonSet controls are on no node. */
export function observeDaemonPod({ metadata, spec, status }: Pod): ObservedDaemonPod {
  const { namespace = '', name, creationTimestamp = '', deletionTimestamp } = metadata;
  const owner = daemonSetOf(metadata);
  const ready = status?.conditions?.find(({ type, status: value }) => type === 'Ready' && value === 'True');
  const isReady = ready !== undefined && deletionTimestamp === undefined;
  return {
    uid: intern(owner?.uid ?? ''),
    namespace: intern(namespace),
    name,
    node: owner ? (spec?.nodeName ?? intendedNode(spec)) : '',
    createdAtSeconds: secondsOf(creationTimestamp),
    readySinceSeconds: isReady ? Math.max(1, secondsOf(ready.lastTransitionTime)) : 0,
    ...(isReady ? {} : { problem: intern(deletionTimestamp === undefined ? problemOf(status) : 'is terminating') }),
  };
}

function secondsOf(time = ''): number {
  return Math.floor(Date.parse(time) / 1000) || 0;
}

/** Whether the pod is Ready, and of this Node and not of an earlier one of its name. */
export function isDaemonPodOf(
  { createdAtSeconds, readySinceSeconds }: ObservedDaemonPod,
  node: { createdAtMs: number },
): boolean {
  const [createdAtMs, readySinceMs] = [createdAtSeconds * 1000, readySinceSeconds * 1000];
  return readySinceSeconds > 0 && isOfNode({ createdAtMs, readySinceMs }, node);
}

/** The node that the controller of DaemonSets made the pod for; the scheduler has not bound it yet. */
function intendedNode(spec: Pod['spec']): string {
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const [field] = required?.nodeSelectorTerms?.[0]?.matchFields ?? [];
  return field?.key === 'metadata.name' ? (field.values?.[0] ?? '') : '';
}

function problemOf(status: Pod['status']): string {
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const waiting = containers.map(({ state }) => state?.waiting?.reason ?? '').find((reason) => !isOrdinary(reason));
  const unscheduled = status?.conditions?.find(
    ({ type, status: value }) => type === 'PodScheduled' && value === 'False',
  );
  const said = waiting ?? unscheduled?.message ?? status?.reason ?? 'is not Ready';
  return clean(said).slice(0, PROBLEM_LENGTH_MAX);
}

/** What every container is while it starts. */
function isOrdinary(reason: string): boolean {
  return ['', 'ContainerCreating', 'PodInitializing'].includes(reason);
}
