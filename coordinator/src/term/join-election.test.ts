import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { LEADER_URL_ANNOTATION } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import { createKubeMetrics, type KubeMetrics } from '../kube/kube-metrics.ts';
import type { CoordinatorConfig, CoordinatorEnvironment } from '../model/config.ts';
import { type JoinOptions, joinElection } from './join-election.ts';
import type { Leader } from './leadership-state.ts';
import { LeaseServer } from './testing/lease-simulation.ts';
import { Machine } from './testing/machine.ts';

/** Replicas around one Lease in memory. */
function world() {
  const clock = new FakeClock();
  const server = new LeaseServer();
  let born = 0;
  const join = (
    podName: string | undefined,
    change: Partial<JoinOptions> & { leaderElect?: boolean; schedulerTls?: 'on' | 'off' } = {},
  ) => {
    const { leaderElect = true, schedulerTls = 'on', ...rest } = change;
    const machine = new Machine({
      world: clock,
      server,
      network: { partitioned: false, latency: () => 1, failsBefore: 0, failsAfter: 0 },
      random: () => 0.5,
      rate: 1,
      afterStep: () => {},
    });
    const news: (Leader | 'leads')[] = [];
    let connections = 0;
    const config = {
      leaderElect,
      tls: 'on',
      schedulerTls,
      leaseNamespace: 'rollcall',
      leaseName: 'lease',
    } as CoordinatorConfig;
    const environment: CoordinatorEnvironment = { ownNamespace: 'rollcall', podName, podIp: undefined };
    const name = podName ?? 'host';
    born += 1;
    const election = joinElection({
      config,
      environment,
      clock: machine.clock,
      random: () => 0.5,
      uniqueName: () => `start-${born}`,
      connect: () => {
        connections += 1;
        return machine.client;
      },
      leaderUrl: `https://${name}`,
      schedulerUrl: `https://${name}:8888`,
      consoleUrl: `http://${name}:8090`,
      logger: silentLogger(),
      metrics: createKubeMetrics(new Registry()),
      onStartedLeading: () => news.push('leads'),
      onHistoryWentBack: () => {},
      onStandby: (leader) => news.push(leader),
      ...rest,
    });
    void election.run();
    return { election, machine, news, connections: () => connections, told: () => news.splice(0) };
  };
  return { clock, server, join };
}

const FIRST: Leader = {
  leaderUrl: 'https://first',
  leader: 'first',
  schedulerUrl: 'https://first:8888',
  consoleUrl: 'http://first:8090',
};

test('one replica leads, and the other is told where', async () => {
  const { clock, server, join } = world();
  const first = join('first');
  await clock.advance(1000);
  const second = join('second');
  await clock.advance(10_000);
  expect(first.news.at(-1)).toBe('leads');
  expect(second.news).toEqual([FIRST]);
  expect([first.election.isLeading(), second.election.isLeading()]).toEqual([true, false]);
  expect(server.lease?.metadata.name).toBe('lease');
  expect(server.lease?.spec?.holderIdentity).toBe('first_start-1');
});

test.each([
  ['http://first', 'http://first:8888', 'on', {}, 2],
  ['https://first', 'http://10.0.0.7:8888', 'on', { leaderUrl: 'https://first' }, 1],
  ['nonsense', 'file:///etc/passwd', 'on', {}, 2],
  [
    'http://127.0.0.1:1',
    'http://[::1]:8888',
    'on',
    { leaderUrl: 'http://127.0.0.1:1', schedulerUrl: 'http://[::1]:8888' },
    0,
  ],
  // Without TLS for schedulers, the scheduler itself asks in clear text.
  ['https://first', 'http://first:8888', 'off', { leaderUrl: 'https://first', schedulerUrl: 'http://first:8888' }, 0],
] as const)('nothing is sent in clear text to a leader at %s and %s with --scheduler-tls=%s', async (...row) => {
  const [leaderUrl, schedulerUrl, schedulerTls, expected, refusals] = row;
  const { clock, join } = world();
  join('first', { leaderUrl, schedulerUrl });
  await clock.advance(1000);
  const errors: unknown[] = [];
  const logger = silentLogger();
  logger.error = (...args: unknown[]) => void errors.push(args);
  const second = join('second', { schedulerTls, logger });
  await clock.advance(10_000);
  expect(second.news).toEqual([{ leader: 'first', consoleUrl: 'http://first:8090', ...expected }]);
  expect(errors).toHaveLength(refusals);
});

test('a leader that is cut off stands by, and learns its successor', async () => {
  const { clock, join } = world();
  const first = join('first');
  await clock.advance(1000);
  const second = join('second');
  await clock.advance(1000);
  first.told();
  second.told();
  first.machine.network.partitioned = true;
  first.machine.cutStreams();
  await clock.advance(12_000);
  expect(first.told()).toEqual([{}]);
  await clock.advance(20_000);
  expect(second.told().at(-1)).toBe('leads');
  first.machine.heal();
  await clock.advance(10_000);
  expect(first.told()).toEqual([expect.objectContaining({ leaderUrl: 'https://second', leader: 'second' })]);
});

test('a leader does not stand by because of what a person writes into its Lease', async () => {
  const { clock, server, join } = world();
  const first = join('first');
  await clock.advance(1000);
  first.told();
  server.edit(({ metadata }) => {
    metadata.annotations = { ...metadata.annotations, [LEADER_URL_ANNOTATION]: 'https://elsewhere' };
  });
  await clock.advance(1000);
  expect(first.told()).toEqual([]);
});

test('no leader is named when the leader has left in order', async () => {
  const { clock, join } = world();
  const first = join('first');
  await clock.advance(1000);
  const second = join('second');
  await clock.advance(3000);
  second.told();
  const releasing = first.election.release(Promise.resolve());
  await clock.advance(1000);
  await releasing;
  expect(first.told().at(-1)).toEqual({});
  expect(second.told().at(-1)).toBe('leads');
});

test('a replica at the address of its predecessor sends no agent there, and no user to its console', async () => {
  const { clock, join } = world();
  const first = join('first');
  await clock.advance(1000);
  first.machine.kill();
  const addresses = { leaderUrl: 'https://first', schedulerUrl: 'https://first:8888', consoleUrl: 'http://first:8090' };
  const again = join('first', addresses);
  await clock.advance(2000);
  expect(again.news).toEqual([{ leader: 'first', schedulerUrl: 'https://first:8888' }]);
});

test('no agent is sent to a leader that takes no reports', async () => {
  const { clock, join } = world();
  join('first', { leaderUrl: '' });
  await clock.advance(1000);
  const second = join('second');
  await clock.advance(3000);
  expect(second.news).toEqual([{ leader: 'first', schedulerUrl: FIRST.schedulerUrl, consoleUrl: FIRST.consoleUrl }]);
});

test('without an election a replica leads at once, without a request', async () => {
  const { clock, join } = world();
  const led: boolean[] = [];
  const metrics: KubeMetrics = { ...createKubeMetrics(new Registry()), leading: (leads) => led.push(leads) };
  const sole = join('sole', { leaderElect: false, metrics });
  await clock.advance(0);
  expect(sole.election.isLeading()).toBe(true);
  expect({ led, told: sole.told().at(-1), connections: sole.connections() }).toEqual({
    led: [true],
    told: 'leads',
    connections: 0,
  });
  await sole.election.release(Promise.resolve());
  expect(sole.told()).toEqual([{}]);
});
