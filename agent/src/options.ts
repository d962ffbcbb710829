import { checkListen, checkSubdomain, isSubdomain } from '@rollcall/common/config/checks.ts';
import type { OptionTable } from '@rollcall/common/config/option.ts';
import { PROBE_PERIOD_MS_MIN, PROBE_TIME_MS_MAX } from '@rollcall/common/well-known.ts';
import { checkCoordinatorUrls } from './report/coordinator-url.ts';

const PERIOD_MS = { type: 'number', min: PROBE_PERIOD_MS_MIN, max: PROBE_TIME_MS_MAX } as const;
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

/** Every setting of the agent. packages/docs/reference/flags.md and `--help` are made from this table. */
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
    help: 'Address of the node. The agent probes services there for which the coordinator sends no address.',
  },
  probePeriodMs: { ...PERIOD_MS, default: 1000, help: 'Time between two probes of a service, in milliseconds.' },
  probeIdlePeriodMs: {
    ...PERIOD_MS,
    default: 5000,
    help: 'Time between two probes of a service that has been ready for a minute, in milliseconds, until a probe fails, its connection closes or the list of services changes; checks with a period of their own keep it.',
  },
  probeTimeoutMs: { ...PERIOD_MS, min: 10, default: 1000, help: 'Time-out of a probe, in milliseconds.' },
  failureThreshold: {
    ...THRESHOLD,
    default: 3,
    help: 'Number of failed probes in a row after which a service is not ready; a refused connection makes it not ready at once.',
  },
  successThreshold: {
    ...THRESHOLD,
    default: 1,
    help: 'Number of successful probes in a row after which a service is ready.',
  },
  probePaths: {
    type: 'list',
    env: ['ROLLCALL_PROBE_PATHS'],
    default: [],
    check: checkDirectories,
    defaultText: 'none',
    help: 'Directories below which the agent may probe Unix sockets and files, separated by commas.',
  },
  coordinatorUrl: {
    type: 'list',
    env: ['ROLLCALL_COORDINATOR_URL'],
    check: checkCoordinatorUrls,
    defaultText: 'https://rollcall-coordinator.<own namespace>.svc:8443, then the address of the same Service',
    help: 'URLs of the coordinator, tried in order; http:// only for loopback addresses.',
  },
  coordinatorCaFile: {
    type: 'string',
    default: '/etc/rollcall/ca/ca.crt',
    check: checkPath,
    help: 'CA certificates (PEM) to verify the coordinator, reloaded when the file changes.',
  },
  coordinatorServerName: {
    type: 'string',
    check: checkServerName,
    defaultText: '`rollcall-coordinator.<own namespace>.svc`',
    help: 'Name that the certificate of the coordinator must contain, whatever its address.',
  },
  tokenFile: {
    type: 'string',
    default: '/var/run/secrets/rollcall/token',
    check: checkPath,
    help: 'File with the service account token for reports, reloaded when it changes.',
  },
  heartbeatSeconds: {
    type: 'number',
    default: 10,
    min: 0.2,
    max: 600,
    integer: false,
    help: 'Time between reports while nothing changes, unless the coordinator sets another.',
  },
  sysfsRoot: {
    type: 'string',
    default: '/sys',
    check: checkDirectory,
    help: 'Path of the sysfs from which the agent reads USB and PCI; the sysfs of a container is enough.',
  },
  procfsRoot: {
    type: 'string',
    default: '/proc',
    check: checkDirectory,
    help: 'Path of the procfs from which the agent reads the device tree; if it is not there, from the sysfs.',
  },
  deviceTreeNodes: {
    type: 'list',
    short: 'n',
    default: [],
    check: (names) =>
      names.every((name) => /^[A-Za-z0-9,._+-]{1,31}$/.test(name)) ? undefined : 'must be names of nodes',
    defaultText: 'none',
    help: 'Names of nodes of the device tree whose compatible counts, besides the root, cpu and gpu; without numbers and addresses.',
  },
  featuresDir: {
    type: 'string',
    check: checkDirectory,
    defaultText: 'none',
    help: "Directory of NFD's feature files (features.d), from which the agent answers the terms nfd:local.… of rules.",
  },
  deviceRemovalGraceSeconds: {
    type: 'number',
    default: 5,
    min: 0,
    max: 300,
    integer: false,
    help: 'Time for which a known accelerator stays in reports after it disappeared; some come back with another id when first used.',
  },
  listen: {
    type: 'string',
    default: '[::]:8086',
    check: checkListen,
    help: 'Listen address of /healthz, /readyz and /metrics; port 0 for any free port, off for none.',
  },
  jsonLog: { type: 'boolean', default: true, short: 'j', help: 'Log in JSON; false logs plain text.' },
  verbose: { type: 'boolean', default: false, short: 'v', help: 'Log more details.' },
  config: { type: 'string', flagOnly: true, help: 'Configuration file (YAML, kind AgentConfiguration).' },
} as const satisfies OptionTable;
