import type { ProbeSpec } from '@rollcall/common/report.ts';
import { COMPONENT_LABEL, notReadyTaint, REGISTRY_FACADE, readyLabel, WS_DAEMON } from '@rollcall/common/well-known.ts';
import type { DeviceTerm } from './inventory/term.ts';
import type { LabelSelector } from './label-selector.ts';

/** Something that has to be up on a node for the node to do its job: what tells whether it is, and what is said of it. */
export type Service = {
  /** As agents report it. */
  name: string;
  /** The nodes that it is for; defaults to every node. */
  nodeSelector?: LabelSelector;
  pods?: ServicePods;
  probe?: ServiceProbe;
  /** The node's CSINode has to list this driver. */
  csiDriver?: string;
  /** Each has to be so of what the agent sees. */
  devices?: readonly DeviceRequirement[];
  /** `Startup`: judged until it is ready on a node for the first time, by the uid of the node, and then left. */
  mode: 'Continuous' | 'Startup';
  publish: Publication;
  origin: ServiceOrigin;
};

/** What a node has to have, as it is written and as it is meant. */
export type DeviceRequirement = { text: string; term: DeviceTerm };

/** Where its pods are. One of them on the node has to be Ready and not terminating. */
export type ServicePods = {
  namespace: string;
  selector: LabelSelector;
  /** Only pods that the DaemonSet of this name controls count. */
  daemonSet?: string;
  /** They only say where the service is: without any, it may be ready as well. */
  optional?: true;
};

/** How agents ask it. What is left out is as their own configuration says. */
export type ServiceProbe = {
  spec?: ProbeSpec;
  /** Absent where the service is at a path. */
  port?: number;
  /** The address to ask at; unless told, that of the pod, or of the node where the pod is on its network or there is none. */
  host?: ServiceHost;
  periodMilliseconds?: number;
  timeoutMilliseconds?: number;
  failureThreshold?: number;
  successThreshold?: number;
};

type ServiceHost = 'Pod' | 'Node' | 'Loopback';

/** What a node shows of a service. */
export type Publication = {
  /** The label that is `true` exactly while the service is ready. */
  label?: string;
  /** There exactly while the service is not ready. */
  taint?: ServiceTaint;
  /** Type of a condition of the Node: True, False, or Unknown while nobody vouches for either. */
  condition?: string;
};

export type ServiceTaint = { key: string; value: string; effect: TaintEffect };

/** `NoExecute` only where `--allow-no-execute` lets it. */
export type TaintEffect = 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';

/** Where a service is from: it is known without being written, or a NodeService asks for it. */
type ServiceOrigin = { kind: 'built-in' } | { kind: 'object'; uid: string; generation: number; createdAtMs: number };

export type GitpodOptions = {
  gitpod: boolean;
  namespace: string;
  wsDaemonPort: number;
  registryFacadePort: number;
  requirePod: boolean;
};

/** The services of Gitpod, or none where Gitpod is not wanted. How they are probed is for the agents' flags to say. */
export function gitpodServices({ gitpod, namespace, requirePod, ...ports }: GitpodOptions): Service[] {
  const service = (name: string, port: number, host: ServiceHost): Service => ({
    name,
    pods: {
      namespace,
      selector: { matchLabels: { [COMPONENT_LABEL]: name } },
      ...(requirePod ? {} : { optional: true }),
    },
    probe: { port, host },
    mode: 'Continuous',
    publish: {
      label: readyLabel(name, namespace),
      taint: { key: notReadyTaint(name), value: 'true', effect: 'NoSchedule' },
    },
    origin: { kind: 'built-in' },
  });
  if (!gitpod) return [];
  return [service(WS_DAEMON, ports.wsDaemonPort, 'Pod'), service(REGISTRY_FACADE, ports.registryFacadePort, 'Node')];
}
