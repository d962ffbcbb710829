import type { DeviceReport } from '@rollcall/common/report.ts';
import { afterFall, type Damping, UNDAMPED } from './damping.ts';
import { type DeviceTally, type Tallied, tallyDevices } from './tally.ts';

/** What was and is seen of the accelerators of one machine. */
export type DeviceMemory = {
  seen: DeviceTally;
  /** By identity, where some were that are no longer there. */
  gone: ReadonlyMap<string, readonly string[]>;
  /** By identity, of its driver. */
  damping: ReadonlyMap<string, Damping>;
};

const GONE_MAX = 16;

/** Takes in what an agent sees now. `nowMs` is monotonic. */
export function remember(
  before: DeviceMemory | undefined,
  devices: readonly DeviceReport[],
  nowMs: number,
): DeviceMemory {
  const seen = tallyDevices(devices);
  if (!before) return { seen, gone: new Map(), damping: new Map() };
  const gone = new Map<string, readonly string[]>();
  const damping = new Map(before.damping);
  for (const identity of new Set([...before.seen.keys(), ...before.gone.keys()])) {
    const places = before.seen.get(identity)?.places ?? new Map<string, string>();
    const left = [...new Set([...(before.gone.get(identity) ?? []), ...places.keys()])].filter(
      (place) => !seen.get(identity)?.places.has(place),
    );
    if (left.length > 0) gone.set(identity, left.sort().slice(0, GONE_MAX));
    if (!hasLostDriver(before.seen, seen, identity)) continue;
    damping.set(identity, afterFall(damping.get(identity) ?? UNDAMPED, nowMs));
  }
  return { seen, gone, damping };
}

/** Whether one that is still there has another driver, or none. */
function hasLostDriver(before: DeviceTally, now: DeviceTally, identity: string): boolean {
  const [then, next] = [before.get(identity), now.get(identity)];
  if (!then || !next) return false;
  const isOther = ([place, driver]: [string, string]) =>
    driver !== '' && next.places.has(place) && next.places.get(place) !== driver;
  return [...then.places].some(isOther) || (next.count <= then.count && driverless(next) > driverless(then));
}

function driverless({ drivers }: Tallied): number {
  return drivers.get('') ?? 0;
}

/** Identities whose driver comes and goes too often: it counts as none until then, by the monotonic clock. */
export function heldDrivers({ damping }: DeviceMemory, nowMs: number): Map<string, number> {
  const held = new Map<string, number>();
  for (const [identity, { heldUntilMs }] of damping) if (heldUntilMs > nowMs) held.set(identity, heldUntilMs);
  return held;
}

/** What is to be made of it now: those whose driver is held back have none. */
export function shownTally(memory: DeviceMemory, nowMs: number): DeviceTally {
  const held = heldDrivers(memory, nowMs);
  if (held.size === 0) return memory.seen;
  return new Map(
    [...memory.seen].map(([identity, tallied]) => {
      if (!held.has(identity)) return [identity, tallied];
      const places = new Map([...tallied.places.keys()].map((place) => [place, '']));
      return [identity, { ...tallied, drivers: new Map([['', tallied.count]]), places }];
    }),
  );
}
