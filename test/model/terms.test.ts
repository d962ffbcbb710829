import { expect, test } from 'vitest';
import { play } from './history.ts';
import { type Checks, labelOf, PORTS } from './node-services.ts';
import { IMPLIED_LABEL } from './rules.ts';

const AWAY = 'what a service asks for is away for a moment';
const POD = 'a pod of a NodeService changes';
const FILE = { port: PORTS[0], probe: 'file' } as const;

/** A check, and what happens to it. */
const ROWS: readonly [what: string, checks: Checks, deeds: readonly string[]][] = [
  ['a resource with a grace', { offered: 'resource', hasGrace: true }, [AWAY]],
  ['a CSINode with a grace', { offered: 'csiNode', hasGrace: true }, [AWAY]],
  ['DRA with a grace', { offered: 'dra', hasGrace: true }, [AWAY]],
  ['pods with a grace', { pods: 'x', hasGrace: true }, [POD]],
  ['a file newer than the boot', { ...FILE, newerThan: 'Boot' }, ['a machine starts again', 'a file is written']],
  ['a file newer than the pod', { ...FILE, pods: 'x', newerThan: 'Pod' }, [POD, 'a file is written']],
  ['devices by a name', { device: 'edgetpu' }, ['an accelerator comes or goes']],
  ['devices by the ids of USB', { device: 'usb:1a6e:089a' }, ['an accelerator comes or goes']],
  ['devices by the ids of PCI', { device: 'pci:15b3:101e@0200' }, ['an accelerator comes or goes']],
];

const steps = (deeds: readonly string[]) =>
  Array.from({ length: 12 }, (_, index) => ({
    pauseMs: 20_000 + 3000 * index,
    deed: deeds[index % deeds.length] ?? '',
    number: 1000 + index * 7919,
  }));

const NODES = [{ pool: 'a', forWorkspaces: true }];

/** Plays a history, which has to be right; how often the label comes or goes. */
async function changesOf(label: string, history: Parameters<typeof play>[0]): Promise<number> {
  const lines: string[] = [];
  expect(await play(history, (line) => lines.push(line))).toEqual([]);
  return lines.filter((line) => line.includes(`rollcall makes n0 label:${label} `)).length;
}

test.each(ROWS)('the label of a service that asks for %s comes and goes as it has to', async (_what, checks, deeds) => {
  const x = { checks, publish: { label: labelOf('x') } };
  const world = { gate: 'label' as const, nodes: NODES, nodeServices: { x } };
  expect(await changesOf(labelOf('x'), { seed: 1, world, steps: steps(deeds) })).toBeGreaterThanOrEqual(2);
});

test('the label of a rule that asks for ids of devices comes and goes with them', async () => {
  const world = { gate: 'label' as const, nodes: NODES, rulesAreById: true };
  expect(
    await changesOf(IMPLIED_LABEL, { seed: 1, world, steps: steps(['a device turns over']) }),
  ).toBeGreaterThanOrEqual(2);
});
