import type { DeviceReport } from '@rollcall/common/report.ts';
import { DEVICE_IDENTITY_PREFIX } from '@rollcall/common/well-known.ts';
import {
  busesOf,
  type DeviceGrammar,
  type DeviceLabel,
  deviceLabels,
  leftOutBy,
  tallyLabels,
} from './device-grammar.ts';
import { type Claim, type EvaluatedNode, type Labeler, theirLabel } from './labeler.ts';

/** More than any machine has; what is made up by a hostile one must not fill the Node. */
const LABELS_MAX = 128;

/**
 * Labels for the hardware that an agent sees. Others may write the same keys: NFD does. What the agent cannot tell stays
 * as it is, and so does everything while no agent has spoken: silence says nothing about hardware.
 */
export function deviceLabelsLabeler(grammar: DeviceGrammar): Labeler {
  const made = new WeakMap<readonly DeviceReport[], ReadonlyMap<string, DeviceLabel>>();
  const presentOn = (devices: readonly DeviceReport[]) => {
    const labels = made.get(devices) ?? deviceLabels(devices, grammar);
    made.set(devices, labels);
    return labels;
  };
  return {
    name: 'device-labels',
    claims: (node) => {
      const all = node.machine ? [...presentOn(node.machine.devices), ...tallyLabels(node.inventory, grammar)] : [];
      const { wanted, tooMany } = limited(new Map(all));
      const isGone = (key: string) => busesOf(key).length > 0 && !wanted.has(key) && !tooMany.has(key);
      const left = [...node.ownedLabels].filter(isGone);
      return [
        ...[...wanted].map(([key, label]) => wish(node, key, label)),
        ...[...tooMany].map(([key, { value }]) => leaveOut(key, value)),
        ...left.map(
          (key): Claim => ({
            kind: 'label',
            key,
            value: node.labels[key] ?? '',
            ...OWN,
            ...removalReason(node, key, grammar),
          }),
        ),
      ];
    },
  };
}

const OWN = { ownership: 'shared', origin: 'device' } as const;

type Labels = { wanted: ReadonlyMap<string, DeviceLabel>; tooMany: ReadonlyMap<string, DeviceLabel> };

const NONE: ReadonlyMap<string, DeviceLabel> = new Map();

/** Keeps the labels of known accelerators first, then their counts and drivers, then the others, each sorted by key. */
function limited(labels: ReadonlyMap<string, DeviceLabel>): Labels {
  if (labels.size <= LABELS_MAX) return { wanted: labels, tooMany: NONE };
  const sorted = [...labels].sort(([a], [b]) => (`${rank(a)}${a}` < `${rank(b)}${b}` ? -1 : 1));
  return { wanted: new Map(sorted.slice(0, LABELS_MAX)), tooMany: new Map(sorted.slice(LABELS_MAX)) };
}

function rank(key: string): number {
  if (!key.startsWith(DEVICE_IDENTITY_PREFIX)) return 2;
  return isOfTally(key) ? 1 : 0;
}

function isOfTally(key: string): boolean {
  return key.startsWith(DEVICE_IDENTITY_PREFIX) && /\.(count|driver)$/.test(key);
}

function leaveOut(key: string, value: string): Claim {
  const reason = `is left out, since the machine has more than ${LABELS_MAX} such labels`;
  return { ...OWN, kind: 'label', key, value, stance: 'absent', reason, cause: 'agent' };
}

function wish({ labels, ownedLabels }: EvaluatedNode, key: string, { value, reason }: DeviceLabel): Claim {
  const there = labels[key];
  const label = { ...OWN, kind: 'label', key, value } as const;
  if (there === undefined || there === value || ownedLabels.has(key))
    return { ...label, stance: 'present', reason, cause: 'agent' };
  return theirLabel(key, value, there);
}

function removalReason(
  node: EvaluatedNode,
  key: string,
  grammar: DeviceGrammar,
): Pick<Claim, 'stance' | 'reason' | 'cause'> {
  const configured = node.machine && configuredAway(node, node.machine.devices, key, grammar);
  if (configured !== undefined) return { stance: 'absent', reason: configured, cause: 'configuration' };
  if (node.freshness.state === 'none')
    return { stance: 'absent', reason: '--agents=false leaves it out', cause: 'configuration' };
  const stand = standOf(node, key);
  return { ...stand, cause: stand.stance === 'keep' ? 'unknown' : 'agent' };
}

/** Why the configuration alone removes the label: the device is there. */
function configuredAway(
  { inventory }: EvaluatedNode,
  devices: readonly DeviceReport[],
  key: string,
  grammar: DeviceGrammar,
): string | undefined {
  if (isOfTally(key) && grammar.labels === 'none' && tallyLabels(inventory, { labels: 'all' }).has(key)) {
    return `--hardware-labels=${grammar.labels} leaves it out`;
  }
  return leftOutBy(key, devices, grammar);
}

function standOf({ machine, inventory }: EvaluatedNode, key: string): Pick<Claim, 'stance' | 'reason'> {
  if (!machine) return { stance: 'keep', reason: 'no agent has reported the hardware yet' };
  const unread = busesOf(key).find((bus) => machine.unread?.includes(bus));
  if (unread !== undefined) return { stance: 'keep', reason: `the agent cannot read the bus ${unread}` };
  const identity = isOfTally(key) ? key.slice(DEVICE_IDENTITY_PREFIX.length, key.lastIndexOf('.')) : '';
  const tallied = inventory.devices?.get(identity);
  if (!tallied) return { stance: 'absent', reason: 'the agent sees no such device any more' };
  const isHeld = inventory.heldDrivers.has(identity);
  return {
    stance: 'absent',
    reason: isHeld ? 'its driver changed too often, and is held back' : 'no driver is bound to it',
  };
}
