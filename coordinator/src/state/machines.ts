import type { ReportContent } from '@rollcall/common/report.ts';
import { TokenBucket } from '@rollcall/common/token-bucket.ts';
import { type DeviceMemory, heldDrivers, remember, shownTally } from '../model/inventory/device-memory.ts';
import type { Inventory } from '../model/inventory/inventory.ts';
import { mergedFeatures } from './node-features.ts';
import type { NodeRecord } from './node-record.ts';
import type { ObservedNode } from './observed-node.ts';
import type { OnDemandOnNode } from './on-demand-objects.ts';
import { draDevices, type SliceNode } from './resource-slices.ts';

/** What an agent says of the machine itself. */
export type Machine = Pick<ReportContent, 'devices' | 'unread' | 'facts' | 'answers' | 'values'>;

export type ShownMachine = {
  machine: Machine;
  devices: DeviceMemory;
  changes: TokenBucket;
};

/** What one machine may cost: so many changes at once, and then one in a second. */
const CHANGES = { burst: 5, intervalMs: 1000 };

/**
 * What the machines of the nodes are like. One that keeps changing, since a device has a loose contact or its agent is
 * hostile, is taken over as it is once a second: each change may cost writes. A driver that comes and goes is held back for
 * longer. Times are monotonic.
 */
export class Machines {
  /** What counts at the next tick. */
  readonly #waiting = new Map<NodeRecord, Pick<ShownMachine, 'machine' | 'changes'>>();
  /** The nodes with a driver that is held back, and when the first of their holds ends, monotonic. */
  readonly #held = new Map<NodeRecord, number>();

  /** Stores a reported machine. Returns whether it counts now, and differs from the one before. */
  take(record: NodeRecord, { devices, unread, facts, answers, values }: Machine, nowMs: number): boolean {
    const asked = { ...(answers ? { answers } : {}), ...(values ? { values } : {}) };
    const machine = { devices, ...(unread ? { unread } : {}), facts, ...asked };
    const shown = record.machine;
    if (shown && isSame(shown.machine, machine)) {
      this.#waiting.delete(record);
      return false;
    }
    const changes = shown?.changes ?? new TokenBucket(CHANGES);
    if (!changes.take(nowMs) && shown) {
      this.#waiting.set(record, { machine, changes });
      return false;
    }
    this.#waiting.delete(record);
    this.#show(record, { machine, changes }, nowMs);
    return true;
  }

  /** Call it once a second. Returns the nodes whose counted hardware changes now. */
  tick(nowMs: number): string[] {
    const changed = [...this.#waiting].filter(([{ ended }]) => !ended);
    this.#waiting.clear();
    for (const [record, shown] of changed) {
      shown.changes.charge(nowMs, 1);
      this.#show(record, shown, nowMs);
    }
    return [...new Set([...changed.map(([record]) => record), ...this.#released(nowMs)])].map(({ name }) => name);
  }

  #show(record: NodeRecord, shown: Pick<ShownMachine, 'machine' | 'changes'>, nowMs: number): void {
    const devices = remember(record.machine?.devices, shown.machine.devices, nowMs);
    record.machine = { ...shown, devices };
    this.#hold(record, nowMs);
  }

  #hold(record: NodeRecord, nowMs: number): void {
    const ends = record.machine ? [...heldDrivers(record.machine.devices, nowMs).values()] : [];
    if (ends.length > 0) this.#held.set(record, Math.min(...ends));
    else this.#held.delete(record);
  }

  #released(nowMs: number): NodeRecord[] {
    const released = [...this.#held].filter(([, untilMs]) => untilMs <= nowMs).map(([record]) => record);
    for (const record of released) this.#hold(record, nowMs);
    return released.filter(({ ended }) => !ended);
  }
}

function isSame(a: Machine, b: Machine): boolean {
  const isAnswered = a.answers === b.answers && a.values === b.values;
  return a.devices === b.devices && a.unread === b.unread && a.facts === b.facts && isAnswered;
}

export type InventorySources = Pick<OnDemandOnNode, 'slices' | 'nodeFeatures'> & {
  node: SliceNode & Pick<ObservedNode, 'allocatable' | 'declared'>;
  shown: ShownMachine | undefined;
};

const NONE: ReadonlyMap<string, readonly string[]> = new Map();
const NO_DEVICES: Machine['devices'] = [];

/** What a node has, from all sources. `nowMs` is monotonic. */
export function inventoryOf(sources: InventorySources, nowMs: number): Inventory {
  const { shown, slices, nodeFeatures, node } = sources;
  const { devices, machine } = shown ?? {};
  return {
    devices: devices && shownTally(devices, nowMs),
    reported: machine?.devices ?? NO_DEVICES,
    gone: devices?.gone ?? NONE,
    heldDrivers: new Set(devices ? heldDrivers(devices, nowMs).keys() : []),
    unread: machine?.unread ?? [],
    facts: machine?.facts ?? {},
    answers: machine?.answers ?? {},
    values: machine?.values ?? {},
    allocatable: node.allocatable,
    declared: node.declared,
    dra: slices && draDevices(slices, node),
    nfd: nodeFeatures && mergedFeatures(nodeFeatures, node),
  };
}
