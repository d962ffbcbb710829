import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { systemClock as clock } from '@rollcall/common/clock.ts';
import { valuesOrExit } from '@rollcall/common/config/values-or-exit.ts';
import { HealthChecks, latched, Watchdog } from '@rollcall/common/health.ts';
import { type Lifecycle, runProgram } from '@rollcall/common/lifecycle.ts';
import { createLogger, type Logger } from '@rollcall/common/logging.ts';
import { createRegistry } from '@rollcall/common/metrics.ts';
import { openObservability } from '@rollcall/common/observability-server.ts';
import { VERSION } from '@rollcall/common/version.ts';
import { Assignment } from './assignment.ts';
import { MachineCollectors } from './collectors.ts';
import { type AgentConfig, loadConfig, PROGRAM_NAME } from './config.ts';
import { registerAgentMetrics } from './metrics.ts';
import { ProbePaths } from './probes/probe-paths.ts';
import { CoordinatorClient } from './report/coordinator-client.ts';
import { buildContent } from './report/report-builder.ts';
import { ReportSender } from './report/report-sender.ts';
import { Reporter } from './report/reporter.ts';
import { serviceCa } from './service-ca.ts';
import { ServicesWatch } from './services-watch.ts';

/** The reporter comes round every 5 s, or after a delivery of at most 5 s. */
const REPORTER_STALLED_MS = 30_000;

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
  const random = Math.random;
  const boot = randomUUID();
  const registry = createRegistry('rollcall_agent');
  const metrics = registerAgentMetrics(registry);
  const health = new HealthChecks();
  const readiness = new HealthChecks();

  const services = new ServicesWatch({
    clock,
    random,
    logger,
    metrics: metrics.probes,
    health,
    signal,
    onChange: () => reporter.changed(),
  });
  // Latched, so that an outage of the coordinator, or a service that comes later, never looks like a restart.
  readiness.add(
    'first-probe-round',
    latched(() => {
      if (!services.told) return 'no coordinator has said yet what to probe';
      const unseen = services.unseen();
      return unseen.length === 0 ? undefined : `not yet probed: ${unseen.join(', ')}`;
    }),
  );
  readiness.add('first-report', () => (sender.introduced ? undefined : 'no coordinator has taken a report yet'));

  const machine = new MachineCollectors({
    config,
    clock,
    logger,
    metrics,
    signal,
    onChange: () => reporter.changed(),
  });

  const client = new CoordinatorClient({
    caFile: config.coordinatorCaFile,
    serverName: config.coordinatorServerName,
    tokenFile: config.tokenFile,
    clock,
    logger,
    metrics: metrics.report,
  });
  const watchdog = new Watchdog({ clock, limitMs: REPORTER_STALLED_MS, signal });
  health.add('reporter', watchdog.check);
  const sender = new ReportSender({ node: config.nodeName, boot, urls: config.coordinatorUrl, client });
  const reporter = new Reporter({
    sender,
    heartbeatSeconds: config.heartbeatSeconds,
    content: () =>
      buildContent(
        { services: services.states(), ...machine.observe() },
        { version: VERSION, servicesDigest: services.digest },
      ),
    onReply: (reply) => {
      assignment.take(reply);
      machine.ask(reply.questions ?? []);
    },
    onRound: () => watchdog.beat(),
    clock,
    random,
    logger,
    metrics: metrics.report,
    signal,
  });

  const bound = await openObservability(config.listen, { health, readiness, registry }, life);
  const assignment = new Assignment({
    services,
    settings: config.watchedServices,
    hostIp: config.hostIp,
    ownPort: Number(bound.slice(bound.lastIndexOf(':') + 1)),
    clock,
    caFrom: (path, service) => serviceCa(path, service, logger),
    paths: new ProbePaths(config.probePaths),
  });
  life.onStop('coordinator connection', () => client.close());
  life.onStop('reporter', () => reporter.stop());
  machine.start();
  assignment.start();
  reporter.start();
  const { nodeName: node, namespace, coordinatorUrl: coordinators } = config;
  logger.info({ version: VERSION, node, boot, namespace, listen: bound, coordinators }, 'Started');
}
