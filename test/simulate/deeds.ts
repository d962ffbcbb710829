import { SHAPED_KINDS } from '../model/kinds.ts';
import { POOL_LABEL } from './coordinator.ts';
import { away, failing, interrupted, restart, type Target, weather } from './outages.ts';
import { labelOf, portAsked, TIER_LABEL, taintOf } from './services.ts';
import { person, rivalCondition } from './strangers.ts';
import { PATHS } from './world.ts';

type Theme = 'services' | 'agents' | 'network' | 'api' | 'coordinators' | 'people' | 'nodes';
type Deed = { theme: Theme; act: (target: Target) => void };

/** Contested keys are written less often, up to five minutes apart. */
const CONTESTED_MS = 310_000;
/** A token is good by a clock that is this much off. */
const CLOCK_OFF_MS = 240_000;

export const DEEDS: Readonly<Record<string, Deed>> = {
  'a service dies for a while': {
    theme: 'services',
    act: (target) => state(target, 'down', target.between(500, 300_000)),
  },
  'a service hangs for a while': {
    theme: 'services',
    act: (target) => state(target, 'hangs', target.between(500, 300_000)),
  },
  'a service comes and goes': {
    theme: 'services',
    act: (target) => {
      const everyMs = target.between(200, 20_000);
      for (let times = 0; times < 5; times += 1)
        target.world.later(2 * times * everyMs, () => state(target, 'down', everyMs));
    },
  },
  'a pod is not ready for a while': {
    theme: 'services',
    act: ({ world, node, service, between }) => {
      world.setPod(node, service.name, 'not-ready');
      world.later(between(100, 120_000), () => node.isGone || world.setPod(node, service.name, 'ready'));
    },
  },
  'a pod is replaced': {
    theme: 'services',
    act: ({ world, node, service, between }) => {
      world.setPod(node, service.name, 'terminating');
      world.later(between(500, 20_000), () => world.setPod(node, service.name, 'absent'));
      world.later(between(20_000, 60_000), () => node.isGone || world.setPod(node, service.name, 'ready'));
    },
  },

  'what a service asks for is gone for a while': {
    theme: 'services',
    act: ({ world, node, service, random, between }) => {
      const kind = service.seen ?? SHAPED_KINDS[Math.floor(random() * SHAPED_KINDS.length)] ?? 'device';
      world.setSeen(node, kind, false);
      world.later(between(500, 300_000), () => node.isGone || world.setSeen(node, kind, true));
    },
  },

  'an agent is killed, and its container restarts': {
    theme: 'agents',
    act: ({ world, judge, node, between }) => {
      const [agent] = node.agents;
      if (!agent) return;
      world.killAgent(node, agent, 'alone');
      world.later(between(500, 200_000), () => {
        if (node.isGone || node.agents.length > 0) return;
        world.startAgent(node, agent.podUid);
        judge.troubles.add(node, 0);
      });
    },
  },
  'an agent is replaced': { theme: 'agents', act: replaceAgent },
  'all agents are replaced': {
    theme: 'agents',
    act: (target) => {
      for (const node of target.world.nodes.values()) {
        target.world.later(target.random() * 60_000, () => node.isGone || replaceAgent({ ...target, node }));
      }
    },
  },
  'an agent is stopped, and goes on': {
    theme: 'agents',
    act: ({ world, judge, node, between }) => {
      const [agent] = node.agents;
      if (!agent) return;
      agent.process.pause();
      judge.troubles.lastPauseMs = world.nowMs;
      world.hearingChanged(node);
      world.later(between(500, 120_000), () => {
        agent.process.resume();
        judge.troubles.lastPauseMs = world.nowMs;
        world.hearingChanged(node);
        judge.troubles.add(node, 0);
      });
    },
  },

  'a node is cut off': {
    theme: 'network',
    act: ({ world, judge, node, between }) => {
      world.network.cutNodes.add(node.name);
      world.hearingChanged(node);
      world.later(between(2000, 200_000), () => {
        world.network.cutNodes.delete(node.name);
        world.hearingChanged(node);
        judge.troubles.add(node, 0);
      });
    },
  },
  'a coordinator is cut off from the agents': {
    theme: 'network',
    act: ({ world, judge, coordinator: { name }, between }) => {
      const forMs = between(2000, 120_000);
      world.network.cutCoordinators.add(name);
      judge.troubles.add('all', forMs);
      world.later(forMs, () => world.network.cutCoordinators.delete(name));
    },
  },
  'reports are lost': { theme: 'network', act: (target) => weather(target, 'loss', 0.25) },
  'reports arrive twice': { theme: 'network', act: (target) => weather(target, 'doubled', 0.5) },
  'reports are late, and overtake each other': { theme: 'network', act: (target) => weather(target, 'late', 0.3) },

  'the API server is away': { theme: 'api', act: (target) => away(target, [0, 1]) },
  'a coordinator is cut off from the API server': {
    theme: 'api',
    act: (target) => away(target, [target.coordinator.name.endsWith('0') ? 0 : 1]),
  },
  'the API server fails': { theme: 'api', act: (target) => failing(target, 'failsBefore', 500) },
  'the API server wants less': { theme: 'api', act: (target) => failing(target, 'failsBefore', 429) },
  'answers of the API server are lost': { theme: 'api', act: (target) => failing(target, 'failsAfter', 500) },
  'watches are cut': {
    theme: 'api',
    act: ({ world, judge }) => {
      for (const { machine } of world.coordinators) machine.cutStreams();
      judge.troubles.add('all', 0);
    },
  },
  'watches are cut, and their history is gone': {
    theme: 'api',
    act: ({ world, judge }) => {
      world.server.compact();
      for (const { machine } of world.coordinators) machine.cutStreams();
      judge.troubles.add('all', 0);
    },
  },
  'watches are late': {
    theme: 'api',
    act: ({ world, judge, random, between }) => {
      const forMs = between(5000, 60_000);
      for (const way of world.apiWays) way.lag = () => random() * 5000;
      judge.troubles.add('all', forMs + 5000);
      world.later(forMs, () => {
        for (const way of world.apiWays) way.lag = () => world.random() * 50;
      });
    },
  },

  'a coordinator is killed': {
    theme: 'coordinators',
    act: ({ world, judge, coordinator, between }) => {
      coordinator.machine.kill();
      judge.troubles.add('all', 0);
      restart(world, coordinator, between(500, 60_000));
    },
  },
  'a coordinator stops in order': {
    theme: 'coordinators',
    act: ({ world, judge, coordinator, between }) => {
      void coordinator.stop();
      judge.troubles.add('all', 0);
      restart(world, coordinator, 5000 + between(500, 60_000));
    },
  },
  'a coordinator is stopped, and goes on': {
    theme: 'coordinators',
    act: ({ world, judge, coordinator: { machine }, between }) => {
      const forMs = between(100, 60_000);
      judge.troubles.add('all', forMs);
      interrupted({ world, judge }, machine, 'pause', forMs);
    },
  },
  'the machine of a coordinator is suspended, and its network comes back late': {
    theme: 'coordinators',
    act: ({ world, judge, coordinator: { name, machine }, random, between }) => {
      const way = world.apiWays[name.endsWith('0') ? 0 : 1];
      const [forMs, lateMs] = [between(100, 60_000), random() < 0.5 ? 0 : random() * 10_000];
      judge.troubles.add('all', forMs + lateMs);
      way.partitioned = true;
      interrupted({ world, judge }, machine, 'suspend', forMs);
      world.later(forMs + lateMs, () => {
        way.partitioned = false;
        machine.heal();
      });
    },
  },
  'a coordinator is stopped while it waits for a slow API server, and then cut off': {
    theme: 'coordinators',
    act: ({ world, judge, coordinator: { name, machine }, random, between }) => {
      const way = world.apiWays[name.endsWith('0') ? 0 : 1];
      const { latency } = way;
      // Shorter than the Lease lasts, and longer than the difference between what leader and standby count.
      const [forMs, cutMs] = [5000 + random() * 5000, between(500, 25_000)];
      judge.troubles.add('all', 3000 + forMs + cutMs);
      judge.troubles.lastPauseMs = world.nowMs + forMs + 3000;
      way.latency = () => 300 + random() * 1500;
      world.later(3000, () => machine.pause());
      world.later(3000 + forMs, () => {
        machine.resume();
        world.later(2500, () => {
          way.latency = latency;
          way.partitioned = true;
        });
      });
      world.later(5500 + forMs + cutMs, () => {
        way.partitioned = false;
        machine.heal();
      });
    },
  },
  'a wall clock jumps': {
    theme: 'coordinators',
    act: ({ coordinator: { machine }, random }) => {
      if (machine.wallOffsetMs === 0) machine.jumpWallClock((random() - 0.5) * 2 * CLOCK_OFF_MS);
      else machine.jumpWallClock(-machine.wallOffsetMs);
    },
  },
  'everything stands still': {
    theme: 'coordinators',
    act: ({ world, judge, between }) => {
      const forMs = between(1000, 120_000);
      world.clock.standStill(forMs);
      judge.troubles.stoodStill(forMs);
    },
  },
  'a person deletes the Lease': {
    theme: 'coordinators',
    act: ({ world, judge }) => {
      for (const { metadata } of world.server.collection(PATHS.leases).all())
        world.server.collection(PATHS.leases).delete(metadata.name);
      judge.troubles.add('all', 0);
    },
  },

  'a person edits a key of theirs': {
    theme: 'people',
    act: ({ world, node, random }) =>
      person(world, node, { metadata: { labels: { 'example.com/team': random() < 0.5 ? 'a' : null } } }),
  },
  'a person sets a label of ours': {
    theme: 'people',
    act: ({ world, node, service, random }) =>
      person(world, node, { metadata: { labels: { [labelOf(service)]: random() < 0.7 ? 'true' : 'no' } } }),
  },
  'a person deletes a label of ours': {
    theme: 'people',
    act: ({ world, node, service }) => person(world, node, { metadata: { labels: { [labelOf(service)]: null } } }),
  },
  'a person taints a node': {
    theme: 'people',
    act: ({ world, node, service, random }) => {
      // If the service publishes no taint, the taint would be foreign.
      const key = random() < 0.5 || !service.taint ? 'example.com/mine' : taintOf(service);
      const kept = (world.server.nodes.get(node.name)?.spec?.taints ?? []).filter((taint) => taint.key !== key);
      person(world, node, { spec: { taints: [...kept, { key, effect: 'NoSchedule' }] } });
    },
  },
  'a person untaints a node': {
    theme: 'people',
    act: ({ world, node }) => person(world, node, { spec: { taints: null } }),
  },
  'a rival writes what is ours': {
    theme: 'people',
    act: ({ world, judge, node, service, random }) => {
      const times = 3 + Math.floor(random() * 20);
      judge.contested(node, times * 2000 + CONTESTED_MS);
      for (let time = 0; time < times; time += 1) {
        const labels = { [labelOf(service)]: time % 2 === 0 ? null : 'true' };
        world.later(time * 2000, () => person(world, node, { metadata: { labels } }, 'rival'));
      }
    },
  },
  'a rival has conditions and labels of its own': {
    theme: 'people',
    act: ({ world, node, random }) => {
      for (let time = 0; time < 10; time += 1) {
        const value = String(Math.floor(random() * 3));
        world.later(time * 1500, () =>
          person(world, node, { metadata: { labels: { 'rival.example/is': value } } }, 'rival'),
        );
        world.later(time * 1500 + 700, () => rivalCondition(world, node, value));
      }
    },
  },
  'a service is edited': {
    theme: 'people',
    act: ({ world, judge, service, random }) => {
      const pick = random();
      if (pick < 0.3) world.setService({ ...service, taint: !service.taint });
      else if (pick < 0.6) world.setService({ ...service, condition: !service.condition });
      else if (pick < 0.8) world.setService({ ...service, failureThreshold: 1 + Math.floor(random() * 4) });
      else world.setService({ ...service, tier: service.tier ? undefined : 'gpu' });
      judge.edited('every service');
    },
  },
  'a service is deleted, and written again': {
    theme: 'people',
    act: ({ world, judge, service, between }) => {
      judge.edited(service.name);
      world.deleteService(service.name);
      judge.edited('every service');
      world.later(between(100, 120_000), () => {
        if (world.services.has(service.name)) return;
        world.setService(service);
        judge.edited('every service');
      });
    },
  },

  'a node goes': { theme: 'nodes', act: ({ world, node }) => void (world.nodes.size > 1 && world.deleteNode(node)) },
  'a node comes': {
    theme: 'nodes',
    act: ({ world, judge, random, between }) => {
      const name = Array.from({ length: 40 }, (_, index) => `n${index}`).find((each) => !world.nodes.has(each));
      if (name === undefined) return;
      const populatedMs = between(500, 60_000);
      const node = world.createNode(name, random() < 0.5 ? 'a' : 'b', 'gpu', populatedMs);
      judge.troubles.add(node, populatedMs);
    },
  },
  'a node is made anew': {
    theme: 'nodes',
    act: ({ world, judge, node, random, between }) => {
      world.deleteNode(node);
      const populatedMs = between(500, 30_000);
      const next = world.createNode(node.name, random() < 0.5 ? 'a' : 'b', 'gpu', populatedMs);
      judge.troubles.add(next, populatedMs);
    },
  },
  'a node changes its pool or tier': {
    theme: 'nodes',
    act: ({ world, judge, node, random }) => {
      const [pool, tier] = [random() < 0.5 ? 'a' : 'b', random() < 0.5 ? 'gpu' : 'cpu'];
      judge.edited(node.uid);
      person(world, node, { metadata: { labels: { [POOL_LABEL]: pool, [TIER_LABEL]: tier } } });
    },
  },
  'kubelets beat': {
    theme: 'nodes',
    act: ({ world }) => {
      for (const name of world.nodes.keys()) world.server.nodes.touch(name);
    },
  },
};

function state({ world, node, service }: Target, to: 'down' | 'hangs', forMs: number): void {
  node.sockets.set(portAsked(service), to);
  world.onTruth();
  world.later(forMs, () => {
    node.sockets.set(portAsked(service), 'up');
    world.onTruth();
  });
}

function replaceAgent({ world, judge, node, between }: Target): void {
  const [agent] = node.agents;
  if (!agent || agent.process.isPaused) return;
  void world.stopAgent(node, agent);
  world.later(6000 + between(500, 60_000), () => {
    if (node.isGone || node.agents.length > 0) return;
    world.startAgent(node);
    judge.troubles.add(node, 0);
  });
}
