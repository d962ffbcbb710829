import type { DeviceReport } from '@rollcall/common/report.ts';
import { busesOf, type DeviceGrammar, type DeviceLabel, deviceLabels } from './device-grammar.ts';
import type { Claim, JudgedNode, Labeler } from './labeler.ts';

/**
 * Labels for the hardware that an agent sees. Others may write the same keys: NFD does. What the agent cannot tell stays
 * as it is, and so does everything while no agent has spoken: silence says nothing about hardware.
 */
export function deviceLabelsLabeler(grammar: DeviceGrammar): Labeler {
  const made = new WeakMap<readonly DeviceReport[], ReadonlyMap<string, DeviceLabel>>();
  const labelsOf = (devices: readonly DeviceReport[]) => {
    const labels = made.get(devices) ?? deviceLabels(devices, grammar);
    made.set(devices, labels);
    return labels;
  };
  return {
    name: 'device-labels',
    claims: (node) => {
      const wanted = node.machine ? labelsOf(node.machine.devices) : NO_LABELS;
      const left = [...node.ownedLabels].filter((key) => busesOf(key).length > 0 && !wanted.has(key));
      return [
        ...[...wanted].map(([key, label]) => wish(node, key, label)),
        ...left.map(
          (key): Claim => ({
            kind: 'label',
            key,
            value: node.labels[key] ?? '',
            ownership: 'shared',
            ...farewell(node, key),
          }),
        ),
      ];
    },
  };
}

const NO_LABELS: ReadonlyMap<string, DeviceLabel> = new Map();

function wish({ labels, ownedLabels }: JudgedNode, key: string, { value, reason }: DeviceLabel): Claim {
  const there = labels[key];
  const label = { kind: 'label', key, value, ownership: 'shared' } as const;
  if (there === undefined || there === value || ownedLabels.has(key)) return { ...label, stance: 'want', reason };
  return { ...label, stance: 'withhold', reason: `is ${JSON.stringify(there)} already, which is not ours to change` };
}

function farewell({ machine }: JudgedNode, key: string): Pick<Claim, 'stance' | 'reason'> {
  if (!machine) return { stance: 'hold', reason: 'no agent has told yet what hardware is there' };
  const unread = machine.unread?.find((bus) => busesOf(key).includes(bus));
  if (unread !== undefined) return { stance: 'hold', reason: `the agent cannot read the bus ${unread}` };
  return { stance: 'withhold', reason: 'the agent sees no such device any more' };
}
