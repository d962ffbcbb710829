import { AGENT_OPTIONS } from '@rollcall/agent/options.ts';
import type { OptionTable } from '@rollcall/common/config/option.ts';
import { COORDINATOR_OPTIONS } from '@rollcall/coordinator/model/options.ts';
import type { ConfigOption } from './value.ts';

/** The values of the chart have these under `gitpod`. */
const OF_GITPOD = ['namespace', 'registryFacadePort', 'wsDaemonPort'];

/** What the chart itself sets, as other objects depend on it. */
export const SET_BY_CHART = {
  agent: [
    ...['nodeName', 'hostIp', 'coordinatorCaFile', 'tokenFile', 'sysfsRoot', 'procfsRoot', 'featuresDir', 'probePaths'],
    'listen',
  ],
  coordinator: [
    ...[
      'kubeconfig',
      'master',
      'agents',
      'gitpod',
      'startupGateDaemonSets',
      'labelDir',
      'rulesAllowedPrefixes',
      'poolsAllowedPrefixes',
      'servicesAllowedPrefixes',
      'hardwareLabels',
      'reportsListen',
      'tls',
      'tlsCertFile',
      'tlsKeyFile',
    ],
    ...['advertiseUrl', 'listen', 'schedulerListen', 'leaderElect', 'leaseName', 'leaseNamespace'],
    'agentServiceAccount',
  ],
};

/** The values of the chart have these under `startupGate.daemonSets`. */
export const DAEMON_SET_GATE = 'startupGateDaemonSets';
export const DAEMON_SET_GATE_OPTIONS = pick(
  COORDINATOR_OPTIONS,
  (key) => key.startsWith(DAEMON_SET_GATE) && key !== DAEMON_SET_GATE,
);
export const GITPOD_OPTIONS = pick(COORDINATOR_OPTIONS, (key) => OF_GITPOD.includes(key));
export const AGENT_CHART_OPTIONS = left(AGENT_OPTIONS, SET_BY_CHART.agent);
export const COORDINATOR_CHART_OPTIONS = left(COORDINATOR_OPTIONS, SET_BY_CHART.coordinator);

function left(options: OptionTable, setByChart: readonly string[]): Record<string, ConfigOption> {
  return pick(
    options,
    (key) => !OF_GITPOD.includes(key) && !key.startsWith(DAEMON_SET_GATE) && !setByChart.includes(key),
  );
}

function pick(options: OptionTable, wanted: (key: string) => boolean): Record<string, ConfigOption> {
  const entries = Object.entries<ConfigOption>(options);
  return Object.fromEntries(entries.filter(([key, option]) => wanted(key) && !option.flagOnly));
}
