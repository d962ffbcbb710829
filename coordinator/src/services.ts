import { COMPONENT_LABEL, notReadyTaint, REGISTRY_FACADE, readyLabel, WS_DAEMON } from '@rollcall/common/well-known.ts';

/** A service that runs on nodes, and what the coordinator does about it. */
export type Service = {
  /** As agents report it. */
  name: string;
  /** Its pods are those with this value of the label `component`. */
  component: string;
  /** The label that is on a node exactly while the service is ready there. */
  label: string;
  /** Key of the taint that is on a node exactly while the service is not ready there, where taints are written. */
  taint: string;
  port: number;
  /** Where the agent reaches it: at the address of its pod, or of its node. */
  address: 'pod' | 'host';
};

/** The services of a Gitpod installation in `namespace`. */
export function gitpodServices(options: {
  namespace: string;
  wsDaemonPort: number;
  registryFacadePort: number;
}): readonly Service[] {
  const service = (name: string, port: number, address: 'pod' | 'host'): Service => ({
    name,
    component: name,
    label: readyLabel(name, options.namespace),
    taint: notReadyTaint(name),
    port,
    address,
  });
  return [
    service(WS_DAEMON, options.wsDaemonPort, 'pod'),
    service(REGISTRY_FACADE, options.registryFacadePort, 'host'),
  ];
}

/** Selects the pods of these services. */
export function componentSelector(services: readonly Service[]): string {
  return `${COMPONENT_LABEL} in (${services.map(({ component }) => component).join(',')})`;
}
