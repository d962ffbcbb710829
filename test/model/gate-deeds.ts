import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import type { DaemonSpec } from './daemon-sets.ts';
import type { Deed, Target } from './deeds.ts';
import { edit, taint, untaint } from './people.ts';
import { handOver } from './successors.ts';
import type { World } from './world.ts';

const TEAM_LABEL = 'example.com/team';
/** What a startup gate may wait for: labels and services. Where it waits for nothing, it is off. */
export const REQUIREMENTS: readonly (readonly string[])[] = [
  [],
  [TEAM_LABEL],
  ['pool.example/tier'],
  ['ws-daemon'],
  ['x'],
  [TEAM_LABEL, 'ws-daemon'],
];

/** What happens to Nodes behind the startup gate. */
export const GATE_DEEDS: Readonly<Record<string, Deed>> = {
  'a label comes that the gate may wait for': deed(({ world, truth }) =>
    edit(world, truth, { labels: { [TEAM_LABEL]: 'a' } }),
  ),
  'a label goes that the gate may wait for': deed(({ world, truth }) =>
    edit(world, truth, { labels: { [TEAM_LABEL]: null } }),
  ),
  'a set with what the gate may wait for comes or goes': deed(({ world, pick }) => {
    const pool = pick(['a', 'b']);
    world.setPoolLabels(pool, world.sets.has(pool) ? undefined : { 'pool.example/tier': 'gold' });
  }),
  'a person closes the gate': deed(({ world, truth, pick }) =>
    taint(world, truth, { key: STARTUP_TAINT, value: pick(['', 'x']), effect: 'NoSchedule' }),
  ),
  'a person opens the gate': deed(({ world, truth }) => untaint(world, truth, STARTUP_TAINT)),
  'what the gate may wait for fails or recovers': deed(({ truth }) => {
    truth.up['ws-daemon'] = !truth.up['ws-daemon'];
  }),
  'another term begins while nodes wait': deed(({ world, pick }) => handOver(world, pick([0, 1]))),
  'the wall clock jumps': deed(({ world, pick }) => world.jumpWallClock(pick([-1_800_000, -60_000, 900_000]))),
  'a pod of a DaemonSet becomes Ready, or is not any more': deed(({ world, truth, pick }) =>
    ofDaemons(world, (name) => world.daemonSets.setPod(name, truth.name, pick([true, true, false, undefined])), pick),
  ),
  'a DaemonSet comes, or belongs elsewhere': deed(({ world, pick }) => {
    const pool = pick([undefined, 'a', 'b']);
    const spec: DaemonSpec = { ...(pool ? { pool } : {}), tolerates: pick(['everything', 'the gate', 'nothing']) };
    if (world.daemonSets.isOn) world.daemonSets.set(pick(['d', 'e']), spec, pick([false, false, true]));
  }),
  'a DaemonSet goes': deed(({ world, pick }) =>
    ofDaemons(world, (name) => world.daemonSets.set(name, undefined), pick),
  ),
  'a gated node joins': deed(({ world, truth, random, pick }) => {
    // Pods of the machine before may stay for a while.
    const doPodsStay = pick([true, false]);
    if (doPodsStay) world.deleteMachine(truth);
    else world.deleteNode(truth);
    world.later(1000, () => {
      if (world.truths.has(truth.name)) return;
      const next = world.createNode(truth.name, 'a', truth.forWorkspaces);
      if (doPodsStay) next.pods = truth.pods;
      // Pods are there before they are Ready, and become so one after the other.
      const readyMs = random() * 20_000;
      world.later(readyMs / 3, () => world.daemonSets.bind(next, []));
      world.later(readyMs / 2, () => world.daemonSets.bind(next, [pick(['d', 'e'])]));
      world.later(readyMs, () => world.populate(next));
    });
  }),
};

function ofDaemons(world: World, act: (name: string) => void, pick: Target['pick']): void {
  const { isOn, names } = world.daemonSets;
  if (isOn && names.length > 0) act(pick(names));
}

function deed(act: (target: Target) => void): Deed {
  return { theme: 'startup-gate', act };
}
