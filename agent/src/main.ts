import '@rollcall/common/early-signals.ts';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { systemClock as clock } from '@rollcall/common/clock.ts';
import { valuesOrExit } from '@rollcall/common/config/values-or-exit.ts';
import { HealthChecks } from '@rollcall/common/health.ts';
import { type Lifecycle, runProgram } from '@rollcall/common/lifecycle.ts';
import { createLogger, type Logger } from '@rollcall/common/logging.ts';
import { createRegistry } from '@rollcall/common/metrics.ts';
import { openObservability } from '@rollcall/common/observability-server.ts';
import { VERSION } from '@rollcall/common/version.ts';
import { createAgent } from './agent.ts';
import { MachineCollectors } from './collectors.ts';
import { type AgentConfig, loadConfig, PROGRAM_NAME } from './config.ts';
import { registerAgentMetrics } from './metrics.ts';
import { CoordinatorClient } from './report/coordinator-client.ts';

const config = await valuesOrExit(PROGRAM_NAME, () =>
  loadConfig({
    argv: process.argv.slice(2),
    env: process.env,
    readFile: (path) => readFileSync(path, 'utf8'),
  }),
);
const logger = createLogger({ json: config.jsonLog, verbose: config.verbose, component: 'agent' });
await runProgram(logger, (life) => startAgent(config, logger, life));

async function startAgent(config: AgentConfig, logger: Logger, life: Lifecycle): Promise<void> {
  const { signal } = life;
  const registry = createRegistry('rollcall_agent');
  const metrics = registerAgentMetrics(registry);
  const health = new HealthChecks();
  const readiness = new HealthChecks();
  const client = new CoordinatorClient({
    caFile: config.coordinatorCaFile,
    serverName: config.coordinatorServerName,
    tokenFile: config.tokenFile,
    clock,
    logger,
    metrics: metrics.report,
  });
  const agent = createAgent({
    config,
    newBoot: randomUUID,
    clock,
    random: Math.random,
    logger,
    metrics,
    health,
    readiness,
    signal,
    client,
    machine: (onChange, turns) => new MachineCollectors({ config, clock, logger, metrics, signal, turns, onChange }),
  });
  const bound = await openObservability(config.listen, { health, readiness, registry }, life);
  life.onStop('coordinator connection', () => client.close());
  life.onStop('reporter', () => agent.stop());
  agent.start(Number(bound.slice(bound.lastIndexOf(':') + 1)));
  const { nodeName: node, coordinatorUrl: coordinators } = config;
  logger.info({ version: VERSION, node, listen: bound, coordinators }, 'Started');
}
