import { describe, expect, test } from 'vitest';
import { gated, serviceOf } from '../model/services.test-fixtures.ts';
import type { Service } from '../model/services.ts';
import type { ObservedNode, Taint } from '../state/observed-node.ts';
import { FirstTaints } from './first-taints.ts';
import type { EvaluatedNode } from './labelers/labeler.ts';
import { snapshot } from './readiness/readiness.test-fixtures.ts';

const TAINT = { key: 'example.com/no-a', value: '', effect: 'NoSchedule' } as const;
const SERVICE: Service = serviceOf('a', {
  publish: { taint: TAINT },
  origin: { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 },
});

function evaluated(
  name: string,
  state?: 'ready' | 'not-ready',
  taints: readonly Taint[] | undefined = [],
): EvaluatedNode {
  const readiness = new Map(state ? [['a', { state, reason: '', cause: 'agent' as const, sinceMs: 0 }]] : []);
  return { ...snapshot({ name, taints }), readiness, ageMs: 0 };
}

function begun(tainted: readonly string[] = [], wasProven = false) {
  const news: string[] = [];
  const noted = { inStatus: wasProven };
  const first = new FirstTaints({
    nodes: () => tainted.map((name) => ({ name, taints: [TAINT] }) as unknown as ObservedNode),
    wasProven: () => noted.inStatus,
  });
  const asked = (count: number, from = 0) =>
    Array.from({ length: count }, (_, index) => {
      const node = evaluated(`n${from + index}`, 'not-ready');
      const may = first.mayTaint(SERVICE, node);
      news.push(...first.commit([SERVICE], node, may ? [TAINT] : []).map(() => 'waiting'));
      return may;
    });
  const observe = (services: readonly Service[], node: EvaluatedNode) => {
    news.push(...first.observe(services, node).map(() => 'proven'));
  };
  return { first, observe, news, asked, noted };
}

describe('a new taint', () => {
  test('begins on ten nodes, and says once that it waits', () => {
    const { asked, news } = begun();
    expect(asked(13).filter(Boolean)).toHaveLength(10);
    expect(asked(13)).toEqual([...Array(10).fill(true), false, false, false]);
    expect(news).toEqual(['waiting']);
  });

  test('goes to every node once its service was ready where it is', () => {
    const { observe, first, asked, news } = begun();
    asked(11);
    observe([SERVICE], evaluated('other', 'ready'));
    expect(asked(1, 20)).toEqual([false]);
    observe([SERVICE], evaluated('n3', 'ready', [TAINT]));
    expect(asked(1, 20)).toEqual([true]);
    expect(news).toEqual(['waiting', 'proven']);
    expect(first.provenTaint(SERVICE)).toBe('example.com/no-a=:NoSchedule');
  });

  test('goes to another node only once it is gone from one that the service selects no more', () => {
    const { observe, asked } = begun();
    asked(11);
    observe([SERVICE], evaluated('n3', undefined, [TAINT]));
    expect(asked(1, 10)).toEqual([false]);
    observe([SERVICE], evaluated('n3', undefined, []));
    expect(asked(1, 10)).toEqual([true]);
  });

  test('counts the nodes that have it already, such as those that an earlier leader tainted', () => {
    const { asked } = begun(['x', 'y', 'z']);
    expect(asked(13).filter(Boolean)).toHaveLength(7);
  });

  test('is as new as before once it is another', () => {
    const { first } = begun();
    first.observe([SERVICE], evaluated('n', 'ready', [TAINT]));
    const edited = { ...SERVICE, publish: { taint: { ...TAINT, value: 'x' } } };
    expect([first.provenTaint(SERVICE), first.provenTaint(edited)]).toEqual([
      'example.com/no-a=:NoSchedule',
      undefined,
    ]);
  });

  test('gives a place back with a node that is gone, or that its service is not for any more', () => {
    const { first, asked } = begun();
    asked(10);
    first.forget('n0');
    first.observe([SERVICE], evaluated('n1'));
    expect(asked(3, 30)).toEqual([true, true, false]);
  });

  test('has the nodes that wait looked at again, once, when a place is given back', () => {
    const { first, asked } = begun();
    asked(13);
    expect([...first.takeWaiting()]).toEqual([]);
    first.forget('n0');
    expect([...first.takeWaiting()].toSorted()).toEqual(['n10', 'n11', 'n12']);
    expect(asked(3, 10)).toEqual([true, false, false]);
    expect([...first.takeWaiting()]).toEqual([]);
    first.observe([SERVICE], evaluated('n1'));
    expect([...first.takeWaiting()].toSorted()).toEqual(['n11', 'n12']);
  });

  test('has no node looked at again that is gone, that its service is not for any more, or that waits for no place', () => {
    const { first, asked } = begun();
    asked(13);
    first.forget('n10');
    first.observe([SERVICE], evaluated('n11'));
    expect([...first.takeWaiting()]).toEqual([]);
    first.forget('n0');
    expect([...first.takeWaiting()]).toEqual(['n12']);
    first.forget('stranger');
    expect([...first.takeWaiting()]).toEqual([]);
  });

  test('that is not asked for any more is begun anew when it is asked for again', () => {
    const { first, asked } = begun();
    asked(11);
    first.observe([], evaluated('n0'));
    expect(asked(11, 20).filter(Boolean)).toHaveLength(10);
  });

  test('waits where the taints of the node are not known', () => {
    const { first } = begun([], true);
    expect(first.mayTaint(SERVICE, { ...evaluated('n', 'not-ready'), taints: undefined })).toBe(false);
  });
});

test('a taint that was seen to go before is put on any node at once', () => {
  expect(begun([], true).asked(13).every(Boolean)).toBe(true);
});

describe('a taint that can go', () => {
  const clears = (first: FirstTaints, node: EvaluatedNode) => {
    first.observe([SERVICE], node);
    return first.mayClear(SERVICE, node);
  };
  const at = (ageMs: number): EvaluatedNode => ({ ...evaluated('n', 'ready', [TAINT]), ageMs });

  test('waits until the status notes that it can, so that the next leader knows as well', () => {
    const { first, noted } = begun(['n']);
    expect(clears(first, at(0))).toBe(false);
    expect([...first.takeWaiting()]).toEqual(['n']);
    expect([...first.takeWaiting()]).toEqual([]);
    noted.inStatus = true;
    expect(clears(first, at(1))).toBe(true);
    expect([...first.takeWaiting()]).toEqual([]);
  });

  test('waits once, and 5 s at most, where the status cannot be written', () => {
    const { first } = begun(['n']);
    expect(clears(first, at(0))).toBe(false);
    expect(clears(first, at(4999))).toBe(false);
    expect(clears(first, at(5000))).toBe(true);
    expect(clears(first, at(60_000))).toBe(true);
  });

  test('goes together with the others of its node that have waited, once that was noted', () => {
    const { first, noted } = begun(['n']);
    expect(clears(first, at(0))).toBe(false);
    noted.inStatus = true;
    // It is looked at again with the others.
    expect(clears(first, at(10))).toBe(false);
    expect(clears(first, { ...at(10), name: 'other' })).toBe(true);
    first.takeWaiting();
    expect(clears(first, at(10))).toBe(true);
  });

  test('is not waited for on a node that is gone', () => {
    const { first } = begun(['n']);
    clears(first, at(0));
    first.forget('n');
    expect([...first.takeWaiting()]).toEqual([]);
  });

  test('is waited for from the first time on that it could go, wherever that was, by the clock of people', () => {
    const { first } = begun(['n']);
    const on = (name: string, createdAtMs: number, ageMs: number) => clears(first, { ...at(ageMs), name, createdAtMs });
    expect(on('n', 1000, 0)).toBe(false);
    expect(on('m', 2000, 3999)).toBe(false);
    expect(on('m', 2000, 4000)).toBe(true);
  });

  test('goes at once where there is no taint to go', () => {
    const { first } = begun(['n']);
    expect(first.mayClear({ ...SERVICE, publish: { label: 'a' } }, at(0))).toBe(true);
  });

  test('goes at once where there is no status to note it in', () => {
    const { first } = begun(['n']);
    expect(first.mayClear(gated(SERVICE, 'both'), at(0))).toBe(true);
  });
});

describe('what is seen of a service', () => {
  test('proves nothing where it has no taint, or is built in', () => {
    const { observe, first, news } = begun();
    const builtIn: Service = gated(SERVICE, 'both');
    observe([{ ...SERVICE, publish: { label: 'a' } }, builtIn], evaluated('n', 'ready', [TAINT]));
    expect(news).toEqual([]);
    expect(first.provenTaint({ ...SERVICE, publish: { label: 'a' } })).toBeUndefined();
    for (const taints of [[], undefined]) {
      expect(first.mayTaint(builtIn, { ...evaluated('n', 'not-ready'), taints })).toBe(true);
    }
  });

  test('proves nothing while it is not ready, and is told once when it does', () => {
    const { observe, first, news } = begun();
    observe([SERVICE], evaluated('n', 'not-ready', [TAINT]));
    expect([news, first.provenTaint(SERVICE)]).toEqual([[], undefined]);
    for (const name of ['n', 'm']) observe([SERVICE], evaluated(name, 'ready', [TAINT]));
    expect(news).toEqual(['proven']);
  });

  test('proves nothing by a taint of another key, or where the taints are unknown', () => {
    const { observe, news } = begun();
    observe([SERVICE], evaluated('n', 'ready', [{ ...TAINT, key: 'example.com/other' }]));
    observe([SERVICE], { ...evaluated('n', 'ready'), taints: undefined });
    expect(news).toEqual([]);
  });

  test('is of each of several services', () => {
    const { observe, news } = begun();
    const other: Service = { ...SERVICE, name: 'b', publish: {} };
    observe([other, SERVICE], evaluated('n', 'ready', [TAINT]));
    expect(news).toEqual(['proven']);
  });
});

test('a node that has the taint as it was before it was edited is none of the first, and proves nothing', () => {
  const { observe, first, asked, news } = begun(['x']);
  const taint = { ...TAINT, effect: 'PreferNoSchedule' } as const;
  const before: Service = { ...SERVICE, publish: { taint } };
  expect(first.mayTaint(before, evaluated('n', 'not-ready', [TAINT]))).toBe(true);
  observe([SERVICE], evaluated('x', 'ready', [taint]));
  observe([SERVICE], evaluated('y', 'ready', [{ ...TAINT, value: 'other' }]));
  expect(news).toEqual([]);
  expect(asked(13).filter(Boolean)).toHaveLength(9);
});

test('a taint with another effect, or of another NodeService of the same name, begins anew', () => {
  const { first, asked } = begun();
  asked(10);
  const origin = { kind: 'object', uid: 'other', generation: 1, createdAtMs: 0 } as const;
  const taint = { ...TAINT, effect: 'NoExecute' } as const;
  for (const service of [SERVICE, { ...SERVICE, origin }, { ...SERVICE, publish: { taint } }]) {
    expect(first.mayTaint(service, evaluated('new', 'not-ready'))).toBe(service !== SERVICE);
  }
});
