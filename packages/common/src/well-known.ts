/** The audience that agents' tokens are made for. */
export const REPORT_AUDIENCE = 'rollcall-coordinator';

/** Path of the endpoint that takes reports. */
export const REPORTS_PATH = '/v1/reports';

/** Largest report body in bytes. */
export const REPORT_BODY_BYTES_MAX = 256 * 1024;

/** The field manager of everything that rollcall applies. */
export const FIELD_MANAGER = 'rollcall';

/** Annotation on the Lease: where the leader takes reports. */
export const LEADER_URL_ANNOTATION = 'rollcall.dev/leader-url';

export const WS_DAEMON = 'ws-daemon';
export const REGISTRY_FACADE = 'registry-facade';

/**
 * The label that says that a service is ready on a node. Its grammar is Gitpod's: workspace pods ask for it in their
 * node affinity.
 */
export function readyLabel(service: string, namespace: string): string {
  return `gitpod.io/${service}_ready_ns_${namespace}`;
}

/** The label by which Gitpod's components are found, on pods. */
export const COMPONENT_LABEL = 'component';

/** Names of the objects that the coordinator keeps in its own namespace. */
export const TLS_SECRET_NAME = 'rollcall-coordinator-tls';
export const CA_CONFIG_MAP_NAME = 'rollcall-coordinator-ca';
export const COORDINATOR_SERVICE_NAME = 'rollcall-coordinator';

/** DNS name of the coordinator's Service, which is also the name that its certificate is made for. */
export function coordinatorServerName(namespace: string): string {
  return `${COORDINATOR_SERVICE_NAME}.${namespace}.svc`;
}
