import { SERVICES_GONE } from '@rollcall/common/config/checks.ts';
import {
  type ConfigSources,
  configInvalid,
  type FieldOf,
  type Loaded,
  loadConfiguration,
} from '@rollcall/common/config/load.ts';
import type { OptionValues } from '@rollcall/common/config/option.ts';
import { checkOwnNamespace, ownNamespace } from '@rollcall/common/config/own-namespace.ts';
import { type ListenAddress, parseListenAddress } from '@rollcall/common/http-server.ts';
import { isLoopback } from '@rollcall/common/loopback.ts';
import { COORDINATOR_OPTIONS } from './options.ts';
import { type Placing, placingOf } from './placing.ts';
import { gitpodServices, type Service } from './services.ts';

export const PROGRAM_NAME = 'rollcall-coordinator';

type Values = OptionValues<typeof COORDINATOR_OPTIONS>;
type FieldName = FieldOf<typeof COORDINATOR_OPTIONS>;

export type CoordinatorConfig = Values & {
  /** How the kubeconfig and the address of the API server were set: a flag, a variable, or a field of the file. */
  apiFields: Readonly<Record<'kubeconfig' | 'master', string>>;
  /** The built-in services of Gitpod, which need no NodeService. */
  watchedServices: Service[];
  placing: Placing;
  leaseNamespace: string;
  poolNamespace: string;
  agentServiceAccount: string;
};

/** What comes from the environment alone. */
export type CoordinatorEnvironment = {
  ownNamespace: string;
  /** Host name of the pod, for the Lease and the log. */
  podName: string | undefined;
  podIp: string | undefined;
};

export function loadEnvironment(sources: Pick<ConfigSources, 'env' | 'readFile'>): CoordinatorEnvironment {
  const { env } = sources;
  return {
    ownNamespace: ownNamespace(sources),
    podName: env['POD_NAME'] || env['HOSTNAME'] || undefined,
    podIp: env['POD_IP'] || undefined,
  };
}

/** Throws CONFIG_INVALID with one line that names the field. */
export function loadConfig(
  sources: ConfigSources,
  environment: CoordinatorEnvironment,
): Promise<Loaded<CoordinatorConfig>> {
  const program = {
    name: PROGRAM_NAME,
    summary: 'takes the reports of the agents, decides what they mean, and writes it to the Nodes',
    kind: 'CoordinatorConfiguration',
    options: COORDINATOR_OPTIONS,
    gone: { services: SERVICES_GONE },
  };
  return loadConfiguration(program, { ...sources, argv: withoutSubcommand(sources.argv) }, (values, fieldOf) => {
    const own = environment.ownNamespace;
    checkOwnNamespace(own);
    checkTls(values, fieldOf);
    checkSchedulerTls(values, fieldOf);
    checkTogether(values, fieldOf);
    return {
      ...values,
      apiFields: { kubeconfig: fieldOf('kubeconfig'), master: fieldOf('master') },
      watchedServices: gitpodServices(values),
      placing: placingOf(values),
      leaseNamespace: values.leaseNamespace ?? own,
      poolNamespace: values.poolNamespace ?? own,
      agentServiceAccount: values.agentServiceAccount ?? `system:serviceaccount:${own}:rollcall-agent`,
    };
  });
}

/** Gitpod's node-labeler is started as `node-labeler run …`. */
function withoutSubcommand(argv: readonly string[]): readonly string[] {
  return argv[0] === 'run' ? argv.slice(1) : argv;
}

function checkTls(values: Values, fieldOf: FieldName): void {
  const { tls, tlsCertFile, tlsKeyFile, reportsListen, advertiseUrl } = values;
  if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined)) {
    const missing = tlsCertFile === undefined ? 'tlsCertFile' : 'tlsKeyFile';
    throw configInvalid(fieldOf(missing), 'is missing: set both --tls-cert-file and --tls-key-file');
  }
  const scheme = tls === 'on' ? 'https:' : 'http:';
  const advertised = advertiseUrl === undefined ? undefined : new URL(advertiseUrl);
  if (advertised && (advertised.protocol !== scheme || advertised.pathname !== '/')) {
    throw configInvalid(fieldOf('advertiseUrl'), `must be ${scheme}//HOST:PORT without a path, since --tls is ${tls}`);
  }
  if (tls === 'on') return;
  if (tlsCertFile !== undefined) throw configInvalid(fieldOf('tls'), 'must be on if --tls-cert-file is set');
  const address = listenAddress(reportsListen);
  if (address && !isLoopback(address.host)) {
    const fix = 'set --reports-listen to a loopback address, or leave TLS on';
    throw configInvalid(
      fieldOf('tls'),
      `must not be off while --reports-listen is ${reportsListen}, since agents would send their tokens unencrypted: ${fix}`,
    );
  }
}

/** Settings that mean nothing without another. */
function checkTogether(values: Values, fieldOf: FieldName): void {
  const { agents, gitpod, startupGateDaemonSets, evict, evictReadiness, notifyUrl, notifyNodes } = values;
  if (!agents && gitpod)
    throw configInvalid(fieldOf('gitpod'), 'must be false with --agents=false, since agents probe its services');
  for (const each of [
    'startupGateDaemonSetsNamespaces',
    'startupGateDaemonSetsExclude',
    'startupGateDaemonSetsTaints',
  ] as const)
    if (values[each].length > 0 && !startupGateDaemonSets)
      throw configInvalid(fieldOf(each), 'needs --startup-gate-daemon-sets');
  if (evictReadiness && !evict) throw configInvalid(fieldOf('evictReadiness'), 'needs --evict');
  if (notifyNodes.length > 0 && notifyUrl.length === 0)
    throw configInvalid(fieldOf('notifyNodes'), 'needs --notify-url');
}

function checkSchedulerTls(values: Values, fieldOf: FieldName): void {
  const { tls, reportsListen, schedulerTls, schedulerClientCaFile } = values;
  if (schedulerTls === 'off' && schedulerClientCaFile !== undefined) {
    throw configInvalid(fieldOf('schedulerClientCaFile'), 'needs --scheduler-tls=on');
  }
  if (schedulerTls === 'on' && (tls === 'off' || reportsListen === 'off')) {
    throw configInvalid(
      fieldOf('schedulerTls'),
      'needs --tls=on and --reports-listen other than off, since it uses the certificate for reports',
    );
  }
}

/** The address of a listener whose text was checked before. */
export function listenAddress(text: string): ListenAddress {
  const parsed = parseListenAddress(text);
  return 'address' in parsed ? parsed.address : undefined;
}
