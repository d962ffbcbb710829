import type { SimCoordinator } from './coordinator.ts';
import type { Judge } from './judge.ts';
import type { SimNode } from './node.ts';
import type { ServiceSpec } from './services.ts';
import type { World } from './world.ts';

/** Target of a deed, drawn from its own random numbers, so that it does not depend on earlier deeds. */
export type Target = {
  world: World;
  judge: Judge;
  node: SimNode;
  service: ServiceSpec;
  coordinator: SimCoordinator;
  random: () => number;
  /** Milliseconds between these, most of them short. */
  between: (fromMs: number, toMs: number) => number;
};

export function weather({ world, judge, between }: Target, what: 'loss' | 'doubled' | 'late', share: number): void {
  const forMs = between(5000, 300_000);
  world.network[what] = share;
  judge.troubles.add('all', what === 'doubled' ? 0 : forMs + 12_000);
  world.later(forMs, () => {
    world.network[what] = 0;
  });
}

export function away({ world, judge, between }: Target, which: readonly (0 | 1)[]): void {
  const forMs = between(500, 120_000);
  judge.troubles.add('all', forMs);
  for (const index of which) world.apiWays[index].partitioned = true;
  world.later(forMs, () => {
    for (const index of which) {
      world.apiWays[index].partitioned = false;
      world.coordinators[index]?.machine.heal();
    }
  });
}

export function failing({ world, judge, between }: Target, what: 'failsBefore' | 'failsAfter', status: number): void {
  const forMs = between(1000, 90_000);
  judge.troubles.add('all', forMs);
  for (const way of world.apiWays) Object.assign(way, { [what]: 0.5, status });
  world.later(forMs, () => {
    for (const way of world.apiWays) way[what] = 0;
  });
}

export function restart(world: World, { name }: SimCoordinator, afterMs: number): void {
  world.later(afterMs, () => world.startCoordinator(name.endsWith('0') ? 0 : 1));
}

export function interrupted(
  { world, judge }: Pick<Target, 'world' | 'judge'>,
  machine: SimCoordinator['machine'],
  how: 'pause' | 'suspend',
  forMs: number,
): void {
  machine[how]();
  judge.troubles.lastPauseMs = world.nowMs;
  world.later(forMs, () => {
    machine.resume();
    judge.troubles.lastPauseMs = world.nowMs;
  });
}
