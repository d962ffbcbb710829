import { checkLabel, checkListen, checkSubdomain, isSubdomain, PORT } from '@rollcall/common/config/checks.ts';
import type { OptionTable } from '@rollcall/common/config/option.ts';
import { checkCoordinatorUrls } from './report/coordinator-url.ts';

const PERIOD_MS = { type: 'number', min: 10, max: 3_600_000 } as const;
const THRESHOLD = { type: 'number', min: 1, max: 1000 } as const;

function checkHost(text: string): string | undefined {
  const isAddress = process.getBuiltinModule('node:net').isIP(text) !== 0;
  // What looks like an IPv4 address but is none would pass for a name.
  const isName = isSubdomain(text) && !/^[\d.]+$/.test(text);
  return isAddress || isName ? undefined : 'must be an IP address or a DNS name';
}

function checkServerName(text: string): string | undefined {
  // RFC 6066, section 3: an address is no server name.
  if (process.getBuiltinModule('node:net').isIP(text) !== 0) return 'must be a DNS name, not an address';
  return checkSubdomain(text);
}

function checkPath(text: string): string | undefined {
  return text === '' ? 'must be the path of a file' : undefined;
}

function checkDirectory(text: string): string | undefined {
  return text.startsWith('/') ? undefined : 'must be an absolute path';
}

function checkDirectories(paths: string[]): string | undefined {
  return paths.every((path) => path.startsWith('/')) ? undefined : 'must be absolute paths';
}

/** Every setting of the agent. README.md and `--help` are made from this table. */
export const AGENT_OPTIONS = {
  nodeName: {
    type: 'string',
    env: ['NODE_NAME'],
    check: checkSubdomain,
    defaultText: 'required',
    help: 'Name of the Node that this agent runs on.',
  },
  hostIp: {
    type: 'string',
    env: ['HOST_IP'],
    default: '127.0.0.1',
    check: checkHost,
    help: 'Address of the node, where the services are probed until the coordinator names a better one.',
  },
  namespace: {
    type: 'string',
    default: 'default',
    check: checkLabel,
    help: 'Namespace of the Gitpod components, as on the coordinator, which makes the label keys; the agent only logs it.',
  },
  registryFacadePort: { ...PORT, default: 31750, help: 'Port where registry-facade is probed.' },
  wsDaemonPort: { ...PORT, default: 8080, help: 'Port where ws-daemon is probed.' },
  wsDaemonProbe: {
    type: 'string',
    default: 'tcp',
    choices: ['tcp', 'tls', 'http2'],
    help: 'What counts as an answer of ws-daemon: a connection, a TLS ServerHello, or an HTTP/2 SETTINGS frame.',
  },
  registryFacadeCaFile: {
    type: 'string',
    check: checkPath,
    defaultText: 'not verified',
    help: 'CA certificates (PEM) by which the certificate of registry-facade is verified.',
  },
  probePeriodMs: { ...PERIOD_MS, default: 1000, help: 'Time between two probes of a service, in milliseconds.' },
  probeTimeoutMs: { ...PERIOD_MS, default: 1000, help: 'How long a probe may take, in milliseconds.' },
  failureThreshold: {
    ...THRESHOLD,
    default: 3,
    help: 'Failed probes in a row until a service is not ready; proof (connection refused) needs no second one.',
  },
  successThreshold: { ...THRESHOLD, default: 1, help: 'Successful probes in a row until a service is ready.' },
  probePaths: {
    type: 'list',
    env: ['ROLLCALL_PROBE_PATHS'],
    default: [],
    check: checkDirectories,
    defaultText: 'none',
    help: 'Directories below which the coordinator may have Unix sockets and files probed, separated by commas.',
  },
  coordinatorUrl: {
    type: 'list',
    env: ['ROLLCALL_COORDINATOR_URL'],
    check: checkCoordinatorUrls,
    defaultText: 'https://rollcall-coordinator.<own namespace>.svc:8443, then the address of the same Service',
    help: 'Where reports go, tried in order; http:// for loopback addresses only.',
  },
  coordinatorCaFile: {
    type: 'string',
    default: '/etc/rollcall/ca/ca.crt',
    check: checkPath,
    help: 'CA certificates (PEM) by which the coordinator is verified, re-read when they change.',
  },
  coordinatorServerName: {
    type: 'string',
    check: checkServerName,
    defaultText: 'rollcall-coordinator.<own namespace>.svc',
    help: 'Name that the certificate of the coordinator must carry, whatever address it is reached at.',
  },
  tokenFile: {
    type: 'string',
    default: '/var/run/secrets/rollcall/token',
    check: checkPath,
    help: 'Service account token that goes with each report, re-read when it changes.',
  },
  heartbeatSeconds: {
    type: 'number',
    default: 10,
    min: 0.2,
    max: 600,
    integer: false,
    help: 'Time between reports while nothing changes, unless the coordinator asks for another.',
  },
  sysfsRoot: {
    type: 'string',
    default: '/sys',
    check: checkDirectory,
    help: 'Where the sysfs of the node is mounted: USB and PCI are read there. The one of a container shows both.',
  },
  procfsRoot: {
    type: 'string',
    default: '/proc',
    check: checkDirectory,
    help: 'Where the procfs of the node is mounted: the device tree is read there, or else in the sysfs.',
  },
  featuresDir: {
    type: 'string',
    check: checkDirectory,
    defaultText: 'none',
    help: "Directory of NFD's feature files (features.d), by which the terms nfd:local.… of rules are answered.",
  },
  deviceRemovalGraceSeconds: {
    type: 'number',
    default: 5,
    min: 0,
    max: 300,
    integer: false,
    help: 'How long a known accelerator that vanished is still reported: some come back with another id when first used.',
  },
  listen: {
    type: 'string',
    default: '[::]:8086',
    check: checkListen,
    help: 'Address of /healthz, /readyz and /metrics; port 0 takes any free one, off opens none.',
  },
  jsonLog: { type: 'boolean', default: true, short: 'j', help: 'Log JSON lines; false logs lines for people.' },
  verbose: { type: 'boolean', default: false, short: 'v', help: 'Log more.' },
  config: { type: 'string', flagOnly: true, help: 'Configuration file (YAML, kind AgentConfiguration).' },
} as const satisfies OptionTable;
