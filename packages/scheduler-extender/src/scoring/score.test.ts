import { DEFAULT_SCORE_WEIGHTS } from '@rollcall/coordinator/model/score-weights.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { placeOn, type SchedulableNode } from './schedulable-node.ts';
import { busy, LIMITS, load, node, service, workspacePod } from './scheduler.test-fixtures.ts';
import { bestOf, explainTerms, SCORE_TERMS, scoresOf, worthOf } from './score.ts';

const pod = workspacePod();

function worth(change: Partial<SchedulableNode> = {}, weights = DEFAULT_SCORE_WEIGHTS) {
  return worthOf(pod, placeOn(node(change), 0), LIMITS, weights);
}

describe('a node is worth more', () => {
  test.each<[string, Partial<SchedulableNode>, Partial<SchedulableNode>]>([
    ['with more workspaces than with fewer', busy(5), busy(4)],
    ['with one workspace than with none', busy(1), busy(0)],
    ['with fewer that start, of equally many', busy(5, 1), busy(3, 3)],
    ['when its agent was heard lately', {}, { fresh: false }],
    ['when its services are steady', {}, { services: [service(), service({ falls: 2 })] }],
  ])('%s', (_name, better, worse) => {
    expect(worth(better)).toBeGreaterThan(worth(worse));
  });

  test('when it is much fuller, even if more start there', () => {
    expect(worth(busy(6, 2))).toBeGreaterThan(worth(busy(2)));
  });
});

describe('where it is known what nodes can allocate', () => {
  const on = (cpu: number, memoryGi: number, asked: [cpu: number, memoryGi: number]): Partial<SchedulableNode> => ({
    allocatable: { cpu, memory: memoryGi * 1024 ** 3 },
    workspaces: {
      ...{ total: 1, startingUntilMs: [] },
      asked: { cpu: asked[0], memory: asked[1] * 1024 ** 3 },
    },
  });

  test.each<[string, Partial<SchedulableNode>, Partial<SchedulableNode>]>([
    ['one large pod counts for more than many small ones', on(16, 64, [8, 8]), { ...on(16, 64, [2, 2]), ...busy(2) }],
    ['the larger share counts', on(16, 64, [1, 60]), on(16, 64, [10, 10])],
    ['a small node is fuller than a large one with the same on it', on(8, 32, [4, 4]), on(64, 256, [4, 4])],
  ])('%s', (_name, fuller, emptier) => {
    expect(worth(fuller)).toBeGreaterThan(worth(emptier));
  });

  test('the pod itself counts, and what is on its way', () => {
    const terms = (assumed: number) =>
      explainTerms(pod, placeOn(node(on(16, 64, [3, 3])), 0, load(assumed)), LIMITS, DEFAULT_SCORE_WEIGHTS);
    const density = (assumed: number) => terms(assumed).find(({ term }) => term === 'density');
    expect(density(0)).toMatchObject({ value: 0.25, message: "25 % of the node's CPU or memory would be requested" });
    expect(density(4)).toMatchObject({ value: 0.5 });
  });
});

test('weights decide, and one of 0 switches a term off', () => {
  const only = (term: keyof typeof DEFAULT_SCORE_WEIGHTS) =>
    ({
      ...Object.fromEntries(SCORE_TERMS.map(({ name }) => [name, 0])),
      [term]: 3,
    }) as typeof DEFAULT_SCORE_WEIGHTS;
  expect(worth(busy(5), only('density'))).toBe(0.5);
  expect(worth(busy(5), only('fresh'))).toBe(1);
  expect(worth({ fresh: false }, only('density'))).toBe(worth({}, only('density')));
  expect(worth(busy(5), { ...only('fresh'), fresh: 0 })).toBe(0);
});

test('scores put the best node alone on top, ties by name', () => {
  const tied = [0.5, 0.5, 0.5].map((value, index) => ({ name: `n${3 - index}`, worth: value }));
  expect(scoresOf(tied)).toEqual([9, 9, 10]);
  expect(
    scoresOf([
      { name: 'a', worth: 0.999 },
      { name: 'b', worth: 1 },
    ]),
  ).toEqual([9, 10]);
  expect(
    scoresOf([
      { name: 'a', worth: undefined },
      { name: 'b', worth: 0.2 },
    ]),
  ).toEqual([0, 10]);
  expect(scoresOf([{ name: 'a', worth: undefined }])).toEqual([0]);
  expect(scoresOf([])).toEqual([]);
});

test('scores are whole numbers from 0 to 10 in the order of worth, one node on top', () => {
  const value = fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined });
  fc.assert(
    fc.property(fc.array(value, { maxLength: 50 }), (worths) => {
      const contenders = worths.map((one, index) => ({ name: `n${index}`, worth: one }));
      const scores = scoresOf(contenders);
      expect(scores.every((score) => Number.isInteger(score) && score >= 0 && score <= 10)).toBe(true);
      expect(scores.filter((score) => score === 10)).toHaveLength(bestOf(contenders) ? 1 : 0);
      const known = contenders.flatMap((one, index) =>
        one.worth === undefined ? [] : [{ worth: one.worth, score: scores[index] ?? -1 }],
      );
      for (const a of known)
        for (const b of known) if (a.worth > b.worth) expect(a.score).toBeGreaterThanOrEqual(b.score);
    }),
  );
});

test('whatever a node is like, its worth is from 0 to 1, and every term says why', () => {
  const count = fc.nat({ max: 50 });
  const positive = fc.integer({ min: 1, max: 50 });
  const change = fc.record({
    fresh: fc.boolean(),
    services: fc.array(count.map((falls) => service({ falls }))),
    allocatable: fc.option(fc.record({ cpu: positive, memory: positive }), { nil: undefined }),
    workspaces: fc.option(
      fc.record({
        total: count,
        startingUntilMs: fc.array(count),
        asked: fc.record({ cpu: count, memory: count }),
      }),
      { nil: undefined },
    ),
  });
  const limit = fc.nat({ max: 20 });
  fc.assert(
    fc.property(change, limit, limit, (some, maxWorkspacesPerNode, maxStartingPerNode) => {
      const limits = { maxWorkspacesPerNode, maxStartingPerNode };
      const place = placeOn(node(some), 25);
      const value = worthOf(pod, place, limits, DEFAULT_SCORE_WEIGHTS);
      expect(value).toBeGreaterThanOrEqual(0);
      expect(value).toBeLessThanOrEqual(1);
      for (const term of explainTerms(pod, place, limits, DEFAULT_SCORE_WEIGHTS)) expect(term.message).not.toBe('');
    }),
  );
});

describe('what is said of a node', () => {
  const said = (change: Partial<SchedulableNode>) =>
    Object.fromEntries(
      explainTerms(pod, placeOn(node(change), 0), LIMITS, DEFAULT_SCORE_WEIGHTS).map((each) => [
        each.term,
        [Math.round(100 * each.value) / 100, each.message],
      ]),
    );

  test('that is empty and well', () => {
    expect(said({})).toEqual({
      density: [0, '0 of at most 10 pods are on the node or on their way to it'],
      occupied: [0, 'the node is empty, so it can be removed'],
      spread: [1, '0 of at most 3 are starting'],
      fresh: [1, 'the agent reported recently'],
      steady: [1, 'services became not ready 0 times in the last minutes'],
    });
  });

  test('that is in use, and not so well', () => {
    const services = [service({ falls: 1 }), service({ falls: 2 })];
    const onNode = { ...busy(2, 1), services, fresh: false };
    expect(said(onNode)).toEqual({
      density: [0.3, '3 of at most 10 pods are on the node or on their way to it'],
      occupied: [1, 'the node is in use'],
      spread: [0.67, '1 of at most 3 are starting'],
      fresh: [0, 'the agent has not reported recently'],
      steady: [0.33, 'services became not ready 2 times in the last minutes'],
    });
    expect(said({ services: [service({ falls: 9 })] })['steady']?.[0]).toBe(0);
  });

  test('whose room is known', () => {
    const allocatable = { cpu: 8, memory: 4 * 1024 ** 3 };
    expect(said({ ...busy(2), allocatable })['density']).toEqual([
      0.75,
      "75 % of the node's CPU or memory would be requested",
    ]);
  });
});
