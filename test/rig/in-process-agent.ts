import { type AgentOptions, createAgent } from '@rollcall/agent/agent.ts';
import { HealthChecks } from '@rollcall/common/health.ts';
import { silentLogger } from '@rollcall/common/logging.ts';

/** One for all: there may be thousands. */
const LOGGER = silentLogger();
const API_SERVER = { host: '10.96.0.1', port: 443 };
/** A machine on which the agent sees neither a bus nor a fact. */
const MACHINE = {
  observe: () => ({ devices: [], unread: [], facts: {}, answers: {}, values: {} }),
  ask: () => {},
  start: () => {},
};

type Given = 'newBoot' | 'clock' | 'random' | 'metrics' | 'signal' | 'client' | 'connect' | 'openLine';

export type InProcessAgentOptions = Pick<AgentOptions, Given> & {
  node: string;
  hostIp: string;
  urls: string[];
  /** Defaults to one without devices. */
  machine?: AgentOptions['machine'];
};

/** Starts an agent as it ships, with the flags of the chart, but without a process and a machine of its own. */
export function startInProcessAgent({ node, hostIp, urls, machine = () => MACHINE, ...given }: InProcessAgentOptions) {
  const agent = createAgent({
    ...given,
    config: {
      nodeName: node,
      hostIp,
      coordinatorUrl: urls,
      heartbeatSeconds: 10,
      probePeriodMs: 1000,
      probeIdlePeriodMs: 5000,
      probeTimeoutMs: 1000,
      failureThreshold: 3,
      successThreshold: 1,
      probePaths: ['/run'],
      apiServer: API_SERVER,
    },
    logger: LOGGER,
    health: new HealthChecks(),
    readiness: new HealthChecks(),
    machine,
  });
  agent.start(Number.NaN);
  return agent;
}
