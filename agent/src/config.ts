import { isIP } from 'node:net';
import { SERVICES_GONE } from '@rollcall/common/config/checks.ts';
import { type ConfigSources, configInvalid, type Loaded, loadConfiguration } from '@rollcall/common/config/load.ts';
import type { OptionValues } from '@rollcall/common/config/option.ts';
import { checkOwnNamespace, ownNamespace } from '@rollcall/common/config/own-namespace.ts';
import type { ProbeTarget } from '@rollcall/common/report.ts';
import { COORDINATOR_SERVICE_NAME, coordinatorServerName } from '@rollcall/common/well-known.ts';
import { AGENT_OPTIONS } from './options.ts';
import { checkCoordinatorUrls } from './report/coordinator-url.ts';

export const PROGRAM_NAME = 'rollcall-agent';

const DEFAULT_REPORTS_PORT = 8443;

export type AgentConfig = OptionValues<typeof AGENT_OPTIONS> & {
  nodeName: string;
  coordinatorUrl: string[];
  coordinatorServerName: string;
  /** The Service of the API server, as the kubelet tells every pod. */
  apiServer?: ProbeTarget;
};

/** Throws CONFIG_INVALID with one line that names the field. */
export function loadConfig(sources: ConfigSources): Promise<Loaded<AgentConfig>> {
  const program = {
    name: PROGRAM_NAME,
    summary: 'probes the services of its node and reports what it sees to the coordinator',
    kind: 'AgentConfiguration',
    options: AGENT_OPTIONS,
    gone: { services: SERVICES_GONE },
  };
  return loadConfiguration(program, sources, (values) => {
    if (values.nodeName === undefined) throw configInvalid('--node-name', 'is required (environment: NODE_NAME)');
    const own = ownNamespace(sources);
    checkOwnNamespace(own);
    const serverName = coordinatorServerName(own);
    return {
      ...values,
      nodeName: values.nodeName,
      coordinatorUrl: values.coordinatorUrl ?? defaultUrls(serverName, sources.env),
      coordinatorServerName: values.coordinatorServerName ?? serverName,
      ...apiServerOf(sources.env),
    };
  });
}

function apiServerOf(env: ConfigSources['env']): Pick<AgentConfig, 'apiServer'> {
  const host = env['KUBERNETES_SERVICE_HOST'] ?? '';
  const port = Number(env['KUBERNETES_SERVICE_PORT'] ?? 443);
  return isIP(host) !== 0 && port > 0 && port <= 65_535 ? { apiServer: { host, port } } : {};
}

/**
 * The Service by its DNS name and, where the kubelet says it, by its address: while cluster DNS itself waits for nodes
 * that rollcall keeps gated, only the latter can be reached.
 */
function defaultUrls(serverName: string, env: ConfigSources['env']): string[] {
  const urls = [`https://${serverName}:${DEFAULT_REPORTS_PORT}`];
  const prefix = `${COORDINATOR_SERVICE_NAME.toUpperCase().replaceAll('-', '_')}_SERVICE`;
  const host = env[`${prefix}_HOST`];
  if (!host) return urls;
  const port = env[`${prefix}_PORT`] || DEFAULT_REPORTS_PORT;
  const byAddress = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const problem = checkCoordinatorUrls([byAddress]);
  if (problem !== undefined) throw configInvalid(`${prefix}_HOST, ${prefix}_PORT`, problem);
  return [...urls, byAddress];
}
