import {
  KEYS_ANNOTATION,
  MANAGED_LABELS_ANNOTATION,
  notReadyTaint,
  readyLabel,
  SCALE_DOWN_DISABLED,
  SCALE_DOWN_HOLD,
} from '@rollcall/common/well-known.ts';
import type { ModelAgent } from './agent.ts';
import type { Fate } from './api-server/client.ts';
import { CLAIM_DEEDS } from './claim-deeds.ts';
import { EVICTION_DEEDS } from './eviction-deeds.ts';
import { GATE_DEEDS } from './gate-deeds.ts';
import { HANGING_DEEDS } from './hanging-deeds.ts';
import { HOLD_DEEDS } from './hold-deeds.ts';
import { MASS_DEEDS } from './mass-deeds.ts';
import { POOL_LABEL, POOLS } from './node-services.ts';
import { claim, edit, removeList, resetManagedFields, taint, taintAsWell, untaint } from './people.ts';
import { CORAL_LABEL, DEVICE_LABEL, IMPLIED_LABEL, POOL_KEYS } from './rules.ts';
import { SERVICE_DEEDS } from './service-deeds.ts';
import { handOver, renew, renewMachine } from './successors.ts';
import type { NodeTruth, ServiceName } from './truth.ts';
import { VERSION_DEEDS } from './version-deeds.ts';
import type { World } from './world.ts';

/** What a deed is done to, all drawn from its own numbers, so that it is the same whatever was done before. */
export type Target = {
  world: World;
  truth: NodeTruth;
  service: ServiceName;
  random: () => number;
  pick: <T>(list: readonly T[]) => T;
};

export type Deed = {
  /** What it belongs to; a history is made of a few themes. */
  theme:
    | 'services'
    | 'node-services'
    | 'pods'
    | 'agents'
    | 'people'
    | 'pools'
    | 'rules'
    | 'nodes'
    | 'startup-gate'
    | 'holds'
    | 'claims'
    | 'eviction'
    | 'mass'
    | 'versions'
    | 'hanging'
    | 'leaders'
    | 'faults';
  act: (target: Target) => void;
};

const LEASE_MS = 15_000;

const FOREIGN = ['example.com/team', CORAL_LABEL] as const;

export const DEEDS: Readonly<Record<string, Deed>> = {
  'a service dies': {
    theme: 'services',
    act: ({ truth, service }) => {
      truth.up[service] = false;
    },
  },
  'a service comes up': {
    theme: 'services',
    act: ({ truth, service }) => {
      truth.up[service] = true;
    },
  },
  'a service turns over': {
    theme: 'services',
    act: ({ truth, service }) => {
      truth.up[service] = !truth.up[service];
    },
  },
  'a service comes and goes': { theme: 'services', act: flap },
  'a device comes or goes': {
    theme: 'services',
    act: ({ truth }) => {
      truth.device = !truth.device;
    },
  },

  'a pod is not ready': podDeed({ ready: false, terminating: false }),
  'a pod is ready': podDeed({ ready: true, terminating: false }),
  'a pod is on its way out': podDeed({ ready: true, terminating: true }),
  'a pod goes': podDeed(undefined),

  'an agent reboots': {
    theme: 'agents',
    act: ({ world, truth, pick }) => withAgent(truth, pick, (agent) => world.rebootAgent(truth, agent)),
  },
  'an agent hangs': {
    theme: 'agents',
    act: ({ world, truth, pick }) => withAgent(truth, pick, (agent) => world.hangAgent(truth, agent)),
  },
  'the agent is replaced': {
    theme: 'agents',
    act: ({ world, truth }) => {
      for (const agent of [...truth.agents]) world.endAgentPod(truth, agent);
      world.startAgent(truth);
    },
  },
  'the agent is replaced by a surge': {
    theme: 'agents',
    act: ({ world, truth }) => {
      const [older] = truth.agents;
      if (!older || truth.agents.length > 1) return;
      world.startAgent(truth);
      world.later(1500, () => {
        if (truth.agents.includes(older) && truth.agents.length > 1) world.endAgentPod(truth, older);
      });
    },
  },
  'a second agent starts': {
    theme: 'agents',
    act: ({ world, truth }) => {
      if (truth.agents.length < 2) world.startAgent(truth);
    },
  },
  'the older agent ends': {
    theme: 'agents',
    act: ({ world, truth }) => {
      const [older, ...newer] = truth.agents;
      if (older && newer.length > 0) world.endAgentPod(truth, older);
    },
  },
  'the newer agent ends': {
    theme: 'agents',
    act: ({ world, truth }) => {
      const newer = truth.agents.at(-1);
      if (newer && truth.agents.length > 1) world.endAgentPod(truth, newer);
    },
  },
  'the agents go': {
    theme: 'agents',
    act: ({ world, truth }) => {
      for (const agent of [...truth.agents]) world.endAgentPod(truth, agent);
    },
  },
  'an agent starts': {
    theme: 'agents',
    act: ({ world, truth }) => {
      if (truth.agents.length === 0) world.startAgent(truth);
    },
  },
  'a node is cut off': {
    theme: 'agents',
    act: ({ truth }) => {
      truth.reachable = false;
    },
  },
  'a node is reached again': {
    theme: 'agents',
    act: ({ truth }) => {
      truth.reachable = true;
    },
  },

  'a person sets a readiness label': {
    theme: 'people',
    act: ({ world, truth, service, pick }) =>
      edit(world, truth, { labels: { [readyLabel(service, 'default')]: pick(['true', 'false']) } }),
  },
  'a person deletes a readiness label': {
    theme: 'people',
    act: ({ world, truth, service }) => edit(world, truth, { labels: { [readyLabel(service, 'default')]: null } }),
  },
  'a person sets a label of theirs': {
    theme: 'people',
    act: ({ world, truth, pick }) => edit(world, truth, { labels: { [pick(FOREIGN)]: pick(['a', 'b']) } }),
  },
  'a person deletes a label of theirs': {
    theme: 'people',
    act: ({ world, truth, pick }) => edit(world, truth, { labels: { [pick(FOREIGN)]: null } }),
  },
  'a person taints a node': {
    theme: 'people',
    act: ({ world, truth, pick }) =>
      taint(world, truth, { key: pick(['example.com/a', 'example.com/b']), value: 'x', effect: 'NoSchedule' }),
  },
  'a person untaints a node': {
    theme: 'people',
    act: ({ world, truth, pick }) => untaint(world, truth, pick(['example.com/a', 'example.com/b'])),
  },
  'a person sets our taint': {
    theme: 'people',
    act: ({ world, truth, service, pick }) => {
      if (world.gate !== 'label')
        taint(world, truth, {
          key: notReadyTaint(service),
          value: pick(['true', 'x']),
          effect: pick(['NoSchedule', 'PreferNoSchedule']),
        });
    },
  },
  'a person adds another effect of our taint': {
    theme: 'people',
    act: ({ world, truth, service, pick }) => {
      if (world.gate !== 'label')
        taintAsWell(world, truth, {
          key: notReadyTaint(service),
          value: pick(['true', 'x']),
          effect: pick(['NoSchedule', 'PreferNoSchedule']),
        });
    },
  },
  'a person removes our taint': {
    theme: 'people',
    act: ({ world, truth, service }) => {
      if (world.gate !== 'label') untaint(world, truth, notReadyTaint(service));
    },
  },
  'a person annotates a node': {
    theme: 'people',
    act: ({ world, truth, pick }) =>
      edit(world, truth, { annotations: { 'example.com/note': pick(['a', 'b', null]) } }),
  },
  'a person holds a node': {
    theme: 'people',
    act: ({ world, truth, pick }) =>
      edit(world, truth, { annotations: { [SCALE_DOWN_HOLD]: pick(['true', 'no', null]) } }),
  },
  'a person sets the scale-down annotation': {
    theme: 'people',
    act: ({ world, truth, pick }) =>
      claim(world, truth, { kind: 'annotation', key: SCALE_DOWN_DISABLED, value: pick(['true', 'false', null]) }),
  },
  'a person removes the list of keys': { theme: 'people', act: ({ world, truth }) => removeList(world, truth) },
  'managedFields are reset': { theme: 'people', act: ({ world, truth }) => resetManagedFields(world, truth) },
  'a workspace comes': {
    theme: 'people',
    act: ({ world, truth, pick }) => world.setWorkspace(pick(['w0', 'w1']), truth.name),
  },
  'a workspace goes': { theme: 'people', act: ({ world, pick }) => world.setWorkspace(pick(['w0', 'w1']), undefined) },

  'a set is written': {
    theme: 'pools',
    act: ({ world, pick, random }) =>
      world.setPoolLabels(
        pick(['a', 'b']),
        Object.fromEntries(POOL_KEYS.filter(() => random() < 0.6).map((key) => [key, pick(['gold', 'silver'])])),
      ),
  },
  'a set is deleted': { theme: 'pools', act: ({ world, pick }) => world.setPoolLabels(pick(['a', 'b']), undefined) },
  'a node changes pool': {
    theme: 'pools',
    act: ({ world, truth, pick }) => edit(world, truth, { labels: { [POOL_LABEL]: pick(['a', 'b', null]) } }),
  },
  'a person sets a label of a pool': {
    theme: 'pools',
    act: ({ world, truth, pick }) =>
      claim(world, truth, {
        kind: 'label',
        key: pick(POOL_KEYS),
        value: pick(['gold', 'bronze']),
        list: MANAGED_LABELS_ANNOTATION,
      }),
  },
  'a person deletes a label of a pool': {
    theme: 'pools',
    act: ({ world, truth, pick }) =>
      claim(world, truth, { kind: 'label', key: pick(POOL_KEYS), value: null, list: MANAGED_LABELS_ANNOTATION }),
  },

  'the rules come or go': { theme: 'rules', act: ({ world }) => world.setRules(!world.rulesOn) },
  'somebody plugs a Coral in': {
    theme: 'rules',
    act: ({ world, truth, pick }) => edit(world, truth, { labels: { [CORAL_LABEL]: pick(['yes', null]) } }),
  },
  'a device turns over': {
    theme: 'rules',
    act: ({ truth }) => {
      truth.device = !truth.device;
    },
  },
  'a person sets an implied label': {
    theme: 'rules',
    act: ({ world, truth, pick }) =>
      claim(world, truth, {
        kind: 'label',
        key: IMPLIED_LABEL,
        value: pick(['true', 'no']),
        list: KEYS_ANNOTATION,
      }),
  },
  'a person deletes an implied label': {
    theme: 'rules',
    act: ({ world, truth }) =>
      claim(world, truth, { kind: 'label', key: IMPLIED_LABEL, value: null, list: KEYS_ANNOTATION }),
  },
  'NFD applies or releases its label': { theme: 'rules', act: ({ world, truth }) => nfd(world, truth) },

  'a node is made anew': { theme: 'nodes', act: ({ world, truth }) => renew(world, truth) },
  'a node is made anew as a service comes up': {
    theme: 'nodes',
    act: ({ world, truth, service }) => {
      truth.up[service] = !truth.up[service];
      world.agentsLook();
      world.later(3, () => {
        if (world.truths.get(truth.name) === truth) renew(world, truth);
      });
    },
  },
  'a node is made anew beneath its pods': { theme: 'nodes', act: ({ world, truth }) => renewMachine(world, truth) },
  'a kubelet beats': { theme: 'nodes', act: ({ world, truth }) => world.nodes.touch(truth.name) },

  'the other leads': { theme: 'leaders', act: ({ world }) => handOver(world, 1 - (world.leader ?? 0)) },
  'the same leads again': { theme: 'leaders', act: ({ world }) => handOver(world, world.leader ?? 0) },
  'the leader dies': {
    theme: 'leaders',
    act: ({ world }) => {
      const { leader } = world;
      if (leader === undefined) return;
      world.replaceProcess(leader);
      handOver(world, 1 - leader, LEASE_MS);
    },
  },
  'the machine of the leader is suspended': {
    theme: 'leaders',
    act: ({ world, pick }) => {
      const { leader } = world;
      if (leader === undefined) return;
      const forMs = pick([2000, 9000, 40_000, 200_000]);
      world.suspend(leader, forMs);
      // A shorter time costs only the term.
      if (forMs < LEASE_MS) return;
      world.later(LEASE_MS, () => {
        if (world.leader === leader) world.lead(1 - leader);
      });
    },
  },
  'the standby begins anew': {
    theme: 'leaders',
    act: ({ world }) => {
      if (world.leader !== undefined) world.replaceProcess(1 - world.leader);
    },
  },

  'requests are lost': faultDeed(() => 'lost'),
  'answers are lost': faultDeed(() => 'unanswered'),
  'the API server says 500': faultDeed(() => ({ status: 500 })),
  'the API server says 504': faultDeed(() => ({ status: 504 })),
  'the API server says 429': faultDeed(() => ({ status: 429, retryAfterMs: 1000 })),
  'writes to one pool hang': {
    theme: 'faults',
    act: ({ world, pick, random }) => world.faults.hang(pick(POOLS), 1000 + random() * 40_000),
  },
  'some requests fail': {
    theme: 'faults',
    act: ({ world }) => {
      world.faults.sporadic = 0.2;
    },
  },
  'no request fails': {
    theme: 'faults',
    act: ({ world }) => {
      world.faults.sporadic = 0;
    },
  },
  'admission refuses a key': { theme: 'faults', act: refuse },

  ...SERVICE_DEEDS,
  ...GATE_DEEDS,
  ...HOLD_DEEDS,
  ...CLAIM_DEEDS,
  ...EVICTION_DEEDS,
  ...MASS_DEEDS,
  ...VERSION_DEEDS,
  ...HANGING_DEEDS,
};

function refuse({ world, service, pick, random }: Target): void {
  const labels = [readyLabel(service, 'default'), DEVICE_LABEL, IMPLIED_LABEL, ...POOL_KEYS].map(
    (key) => `label:${key}`,
  );
  const id = pick([...labels, `taint:${notReadyTaint(service)}`]);
  world.faults.refuse(id, random() * 20_000, pick(['policy', 'webhook']));
}

function flap({ world, truth, service, random }: Target): void {
  const everyMs = 100 + Math.round(random() * 3000);
  for (let times = 1; times <= 10; times += 1) {
    world.later(times * everyMs, () => {
      truth.up[service] = times % 2 === 0;
    });
  }
}

function podDeed(state: { ready: boolean; terminating: boolean } | undefined): Deed {
  return { theme: 'pods', act: ({ world, truth, service }) => world.setPod(truth, service, state) };
}

function faultDeed(fate: () => Fate): Deed {
  return {
    theme: 'faults',
    act: ({ world, random }) => world.faults.break(500 + random() * 20_000, 3000, fate),
  };
}

function withAgent(truth: NodeTruth, pick: Target['pick'], act: (agent: ModelAgent) => void): void {
  if (truth.alive.size === 1 && truth.agents.length === 1) act(pick([...truth.alive]));
}

function nfd(world: World, truth: NodeTruth): void {
  if (truth.wasReset) return;
  truth.nfd = !truth.nfd;
  const labels = truth.nfd ? { [DEVICE_LABEL]: 'true' } : {};
  const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: truth.name, labels } };
  world.nodes.patch({ kind: 'apply', name: truth.name, manager: 'nfd-master', body, force: true });
}
