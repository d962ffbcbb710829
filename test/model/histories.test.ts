import { CHECK_KINDS } from '@rollcall/common/checks/check-kinds.ts';
import { expect, test } from 'vitest';
import { seedsOf } from './halves.ts';
import { type History, historyOf, play } from './history.ts';
import { PLAYED_KINDS } from './kinds.ts';
import { describeFailure, search } from './search.ts';

const seeds = seedsOf('first');

test('whatever people do, the Nodes say the truth, and nothing else is touched', {
  timeout: 900_000 + seeds.count * 200,
}, async () => {
  const failing = await search(seeds);
  expect(failing && (await describeFailure(failing))).toBeUndefined();
});

const TAINTED_NODES = Array.from({ length: 3 }, () => ({ pool: 'a', forWorkspaces: true }));

/** Histories that failed once, as short as they were found, with what was wrong. */
const MENDED: readonly { what: string; history: History }[] = [
  {
    what: 'the oracle forgot that a pool did not request a label for 0.06 s',
    history: {
      seed: 1_507_064_040,
      world: { gate: 'taint', nodes: TAINTED_NODES },
      steps: [
        { pauseMs: 0, deed: 'a node changes pool', number: 851_697_477 },
        { pauseMs: 1000, deed: 'a service turns over', number: 589_351_457 },
        { pauseMs: 0, deed: 'a set is written', number: 156_666_772 },
        { pauseMs: 0, deed: 'a set is written', number: 1_584_494_987 },
        { pauseMs: 0, deed: 'a set is written', number: 1_507_047_332 },
      ],
    },
  },
  {
    what: 'a person applied the label of a NodeService, too, and a pool wanted it when that was deleted',
    history: {
      seed: 11_006_298,
      world: {
        gate: 'label',
        nodes: [{ pool: 'a', forWorkspaces: true }],
        nodeServices: { x: { checks: { device: 'edgetpu' }, publish: { label: 'svc.example/y' } } },
        sharedLabels: true,
        rulesAreById: true,
      },
      steps: [
        { pauseMs: 0, deed: 'a set comes to want the label of a NodeService, or no longer does', number: 201_001_123 },
        { pauseMs: 0, deed: 'a person sets a published label', number: 1_443_413_593 },
        { pauseMs: 0, deed: 'the CRD of NodeServices is deleted, and may return', number: 1_575_756_990 },
        { pauseMs: 0, deed: 'an accelerator comes or goes', number: 1_217_014_642 },
      ],
    },
  },
];

test.each(MENDED)('a history holds that failed once: $what', async ({ history }) => {
  expect(await play(history)).toEqual([]);
});

test('every kind of check has an actor', () => {
  expect([...PLAYED_KINDS].sort()).toEqual(Object.keys(CHECK_KINDS).sort());
});

test('a seed always gives the same history', () => {
  expect(historyOf(7)).toEqual(historyOf(7));
  expect(historyOf(8)).not.toEqual(historyOf(7));
});
