import { describe, expect, test } from 'vitest';
import { gated, serviceOf } from '../model/services.test-fixtures.ts';
import type { Service } from '../model/services.ts';
import type { ObservedNode } from '../state/observed-node.ts';
import { FirstTaints } from './first-taints.ts';
import type { EvaluatedNode } from './labelers/labeler.ts';
import { snapshot } from './readiness/readiness.test-fixtures.ts';

const TAINT = { key: 'example.com/no-a', value: '', effect: 'NoSchedule' } as const;
const SERVICE: Service = serviceOf('a', {
  publish: { taint: TAINT },
  origin: { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 },
});

/** A node that notes a taint of the service with this uid. */
function noting(uid: string, taint: string) {
  return { 'rollcall.dev/services-started': JSON.stringify({ node: 'u', taints: { [uid]: taint } }) };
}

const PROOF = noting('u', 'example.com/no-a=:NoSchedule');

function evaluated(
  name: string,
  state?: 'ready' | 'not-ready',
  { taints = [], annotations = {} }: Partial<Pick<EvaluatedNode, 'taints' | 'annotations'>> = {},
): EvaluatedNode {
  const readiness = new Map(state ? [['a', { state, reason: '', cause: 'agent' as const, sinceMs: 0 }]] : []);
  return { ...snapshot({ name, taints, annotations }), readiness, ageMs: 0 };
}

function begun(tainted: readonly string[] = [], annotations: Readonly<Record<string, string>> = {}) {
  const news: string[] = [];
  const nodes = tainted.map((name) => ({ name, uid: 'u', taints: [TAINT], annotations }) as unknown as ObservedNode);
  const first = new FirstTaints(() => nodes);
  const asked = (count: number, from = 0) =>
    Array.from({ length: count }, (_, index) => {
      const node = evaluated(`n${from + index}`, 'not-ready');
      const may = first.mayTaint(SERVICE, node);
      if (may) {
        const ended = first.reserve([SERVICE], node.name, [TAINT]);
        first.observe([SERVICE], evaluated(node.name, 'not-ready', { taints: [TAINT] }));
        ended();
      } else news.push(...first.rested([SERVICE], node).map(() => 'waiting'));
      return may;
    });
  const observe = (services: readonly Service[], node: EvaluatedNode) => {
    news.push(...first.observe(services, node).map(() => 'proven'));
  };
  return { first, observe, news, asked };
}

describe('a new taint', () => {
  test('begins on ten nodes, and says once that it waits', () => {
    const { asked, news } = begun();
    expect(asked(13).filter(Boolean)).toHaveLength(10);
    expect(asked(13)).toEqual([...Array(10).fill(true), false, false, false]);
    expect(news).toEqual(['waiting']);
  });

  test('is waited for only by nodes on which the service is not ready', () => {
    const { first, asked } = begun();
    asked(10);
    expect(first.rested([SERVICE], evaluated('n10', 'ready'))).toEqual([]);
    expect(first.rested([SERVICE], evaluated('n10', 'not-ready'))).toEqual([SERVICE]);
  });

  test('goes to every node once a Node notes that its service was ready where it is', () => {
    const { observe, first, asked, news } = begun();
    asked(11);
    observe([SERVICE], evaluated('n3', 'ready', { taints: [TAINT] }));
    expect([first.mayClear(SERVICE), ...asked(1, 20)]).toEqual([false, false]);
    for (const name of ['n3', 'n4']) observe([SERVICE], evaluated(name, 'ready', { annotations: PROOF }));
    expect([first.mayClear(SERVICE), ...asked(1, 20)]).toEqual([true, true]);
    expect(news).toEqual(['waiting', 'proven']);
  });

  test('goes to another node only once it is gone from one that the service selects no more', () => {
    const { observe, asked } = begun();
    asked(11);
    observe([SERVICE], evaluated('n3', undefined, { taints: [TAINT] }));
    expect(asked(1, 10)).toEqual([false]);
    observe([SERVICE], evaluated('n3'));
    expect(asked(1, 10)).toEqual([true]);
  });

  test('counts the nodes that have it already, such as those that an earlier leader tainted', () => {
    const { asked } = begun(['x', 'y', 'z']);
    expect(asked(13).filter(Boolean)).toHaveLength(7);
  });

  test('is as new as before once it is another', () => {
    const { first, observe, asked } = begun();
    asked(11);
    observe([SERVICE], evaluated('n', 'ready', { annotations: PROOF }));
    const edited = { ...SERVICE, publish: { taint: { ...TAINT, value: 'x' } } };
    expect([first.mayClear(SERVICE), first.mayClear(edited)]).toEqual([true, false]);
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
    const { first } = begun(['x'], PROOF);
    expect(first.mayTaint(SERVICE, { name: 'n', taints: undefined })).toBe(false);
  });
});

test('a taint that a Node notes is put on any node at once, also by the next leader', () => {
  const { first, asked } = begun(['x'], PROOF);
  expect([first.mayClear(SERVICE), ...asked(13)].every(Boolean)).toBe(true);
});

test('a note of another service, of another taint, or of an earlier Node proves nothing', () => {
  const notes = [
    noting('other', 'example.com/no-a=:NoSchedule'),
    noting('u', 'example.com/no-a=x:NoSchedule'),
    { 'rollcall.dev/services-started': '{"node":"old","taints":{"u":"example.com/no-a=:NoSchedule"}}' },
  ];
  for (const annotations of notes) {
    const { first, observe, asked, news } = begun(['x'], annotations);
    asked(1);
    observe([SERVICE], evaluated('n', 'ready', { annotations }));
    expect([first.mayClear(SERVICE), news]).toEqual([false, []]);
  }
});

test('goes at once where there is no taint to go, or the service is built in', () => {
  const { first } = begun(['n']);
  expect(first.mayClear({ ...SERVICE, publish: { label: 'a' } })).toBe(true);
  expect(first.mayClear(gated(SERVICE, 'both'))).toBe(true);
});

describe('what is seen of a service', () => {
  test('proves nothing where it has no taint, or is built in', () => {
    const { observe, first, news } = begun();
    const builtIn: Service = gated(SERVICE, 'both');
    observe([{ ...SERVICE, publish: { label: 'a' } }, builtIn], evaluated('n', 'ready', { annotations: PROOF }));
    expect(news).toEqual([]);
    for (const taints of [[], undefined]) expect(first.mayTaint(builtIn, { name: 'n', taints })).toBe(true);
  });

  test('is of each of several services', () => {
    const { observe, asked, news } = begun();
    asked(1);
    const other: Service = { ...SERVICE, name: 'b', publish: {} };
    observe([other, SERVICE], evaluated('n', 'ready', { annotations: PROOF }));
    expect(news).toEqual(['proven']);
  });
});

test('a node that has the taint as it was before it was edited is none of the first', () => {
  const { first, asked } = begun(['x']);
  const taint = { ...TAINT, effect: 'PreferNoSchedule' } as const;
  const before: Service = { ...SERVICE, publish: { taint } };
  expect(first.mayTaint(before, evaluated('n', 'not-ready', { taints: [TAINT] }))).toBe(true);
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
