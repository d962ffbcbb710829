import { configInvalid } from '@rollcall/common/config/load.ts';
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

/** Who says the same in two places is not told which of them counts. */
const PORT_FLAGS: Readonly<Record<string, string>> = {
  [WS_DAEMON]: '--ws-daemon-port',
  [REGISTRY_FACADE]: '--registry-facade-port',
};

export type ServiceOptions = {
  namespace: string;
  wsDaemonPort: number;
  registryFacadePort: number;
  /** What the configuration file says, and the path of that file. */
  services: readonly (Pick<Service, 'name'> & Partial<Service>)[];
  config?: string | undefined;
};

/**
 * Every service: those of Gitpod, as the entries with their names in the configuration file change them, then those
 * that only the file knows. Throws CONFIG_INVALID where a new one has no port.
 */
export function resolveServices(options: ServiceOptions): Service[] {
  const { namespace, wsDaemonPort, registryFacadePort } = options;
  const service = (name: string, port: number, address: 'pod' | 'host'): Service => ({
    name,
    component: name,
    label: readyLabel(name, namespace),
    taint: notReadyTaint(name),
    port,
    address,
  });
  const services = new Map([
    [WS_DAEMON, service(WS_DAEMON, wsDaemonPort, 'pod')],
    [REGISTRY_FACADE, service(REGISTRY_FACADE, registryFacadePort, 'host')],
  ]);
  for (const [index, entry] of options.services.entries()) {
    const { name } = entry;
    const known = services.get(name);
    const place = `${options.config}: services[${index}].port`;
    const flag = PORT_FLAGS[name];
    if (flag && entry.port !== undefined) throw configInvalid(place, `is what ${flag} is for: leave it out`);
    const { port = known?.port } = entry;
    if (port === undefined) throw configInvalid(place, `is required, as ${name} has none of its own`);
    services.set(name, { ...(known ?? service(name, port, 'pod')), ...entry, port });
  }
  return [...services.values()];
}

/** Selects the pods of these services. */
export function componentSelector(services: readonly Service[]): string {
  const components = new Set(services.map(({ component }) => component));
  return `${COMPONENT_LABEL} in (${[...components].join(',')})`;
}
