import type { Clock } from '@rollcall/common/clock.ts';
import { closeServer, listen } from '@rollcall/common/http-server.ts';
import type { Lifecycle } from '@rollcall/common/lifecycle.ts';
import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import { listenAddress } from './config.ts';
import { type ConsoleSource, createConsoleServer } from './console/console-server.ts';
import { nodeDocument, planDocument } from './console/node-document.ts';
import type { Decider } from './decider.ts';
import type { Role } from './ingest/report-handler.ts';
import type { RuleDirectory } from './rule-files/rule-directory.ts';
import type { Service } from './services.ts';

const CLOSE_GRACE_MS = 200;

export type ConsoleOptions = {
  decider: Decider;
  services: readonly Service[];
  rules: RuleDirectory | undefined;
  role: () => Role;
  dryRun: boolean;
  staleAfterSeconds: number;
  clock: Clock;
};

/** Opens the console at the address that `--console-listen` names, until the program stops. Throws LISTEN_FAILED. */
export async function openConsole(text: string, options: ConsoleOptions, life: Lifecycle): Promise<string> {
  const address = listenAddress(text);
  if (!address) return 'off';
  const server = createConsoleServer(consoleSource(options), address.host);
  const { host, port } = await listen(server, address);
  life.onStop('console', () => closeServer(server, CLOSE_GRACE_MS));
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function consoleSource({
  decider,
  services,
  rules,
  role,
  dryRun,
  staleAfterSeconds,
  clock,
}: ConsoleOptions): ConsoleSource {
  // Agents report to the leader alone: what a standby knows of services is nothing to go by.
  const replica = () => ({
    ...role(),
    ...(role().leading ? {} : { note: 'This replica does not lead and hears no agent: ask the leader' }),
    guards: decider.fleet.freshness.activeGuards(),
    dryRun,
    staleAfterSeconds,
    now: rfc3339(clock.now()),
  });
  return {
    node: (name) => {
      const facts = decider.explain(name);
      return facts && { replica: replica(), ...nodeDocument(facts, services) };
    },
    nodes: () => ({ replica: replica(), nodes: decider.fleet.nodeNames().toSorted().map(summary) }),
    rules: () => ({ labels: [...(rules?.ruleSet.labels ?? [])], problems: rules?.problems() ?? [] }),
    plan: () => ({ replica: replica(), nodes: decider.fleet.nodeNames().toSorted().flatMap(planned) }),
  };

  function summary(name: string) {
    const judged = decider.judged(name);
    const readiness = [...(judged?.readiness ?? [])];
    return {
      name,
      pool: judged?.pool,
      agent: judged?.freshness.state,
      services: Object.fromEntries(readiness.map(([service, { state }]) => [service, state])),
      heldBack: readiness.filter(([, { damping }]) => damping).map(([service]) => service),
      pending: decider.plan(name) !== undefined,
    };
  }

  function planned(name: string) {
    const facts = decider.plan(name) && decider.explain(name);
    if (!facts?.plan) return [];
    const reasons = Object.fromEntries([...facts.intent].map(([key, { reason }]) => [key, reason]));
    return [{ name, ...planDocument(facts.plan), reasons }];
  }
}
