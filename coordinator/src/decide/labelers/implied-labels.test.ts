import { describe, expect, test } from 'vitest';
import { registryOf } from '../../model/keys/key-registry.test-fixtures.ts';
import { publishing, serviceOf } from '../../model/services.test-fixtures.ts';
import type { Service } from '../../model/services.ts';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import { impliedLabels, type Rules } from './implied-labels.ts';
import type { EvaluatedNode, LabelWishes } from './labeler.ts';

const LIST = 'rollcall.dev/keys';
const NOBODY_KNOWS = 'the content of the file is unknown';

/** The label that implies each label; `undefined` where this is unknown. */
type Implied = Readonly<Record<string, string | undefined>>;

function rules(given: Implied): Rules {
  return {
    labels: new Map(Object.keys(given).map((key) => [key, ''])),
    questions: [],
    dependents: () => new Set(),
    evaluate: (labels) => {
      const all = Object.entries(given);
      const implied = all.filter(([, by]) => by !== undefined && by in labels);
      const unknown = all.filter(([, by]) => by === undefined);
      return {
        implied: new Map(implied.map(([key, by]) => [key, { value: 'true', reason: `by ${by}` }])),
        unknown: new Map(unknown.map(([key]) => [key, NOBODY_KNOWS])),
      };
    },
  };
}

function claims(given: Implied, change: Partial<EvaluatedNode>, wishes: LabelWishes = new Map()): string[] {
  const node = { ...snapshot(change), readiness: new Map(), ageMs: 0 };
  const made = impliedLabels(
    () => rules(given),
    registryOf(),
    () => [],
  ).claims(node, wishes, new Map());
  return made.map(({ key, stance, ownership, value, isForeign }) => {
    return `${stance} ${ownership} ${key}=${value}${isForeign ? ' foreign' : ''}`;
  });
}

const listing = (...keys: string[]) => ({
  annotations: { [LIST]: JSON.stringify(Object.fromEntries(keys.map((key) => [`label:${key}`, 'rule']))) },
});
const want = { stance: 'present', ownership: 'shared', value: 'true' } as const;

describe('a label that a rule implies', () => {
  test('is wanted', () => {
    expect(claims({ a: 'usb' }, { labels: { usb: 'x' } })).toEqual(['present forced a=true']);
  });

  test('is wanted in the same go as the label that implies it', () => {
    expect(claims({ a: 'usb' }, {}, new Map([['usb', want]]))).toContain('present forced a=true');
  });

  test('A-3 is restored where it is listed and another writer changed it', () => {
    const node = { labels: { usb: 'x', a: 'false' }, ...listing('a') };
    expect(claims({ a: 'usb' }, node)).toContain('present forced a=true');
  });

  test('A-4 A-5 is left to the writer who had it before, with the same value or another', () => {
    const leftTo = (there: string) => claims({ a: 'usb' }, { labels: { usb: 'x', a: there } });
    expect(leftTo('true')).toEqual(['absent shared a=true']);
    expect(leftTo('false')).toEqual(['absent shared a=true foreign']);
  });

  test('stays ours where the list was deleted', () => {
    const node = { labels: { usb: 'x', a: 'true' }, ownedLabels: new Set(['a']) };
    expect(claims({ a: 'usb' }, node)).toEqual(['present forced a=true']);
  });
});

describe('a label that no rule implies any more', () => {
  test('A-2 A-6 is let go', () => {
    expect(claims({}, { labels: { a: 'true' }, ...listing('a') })).toEqual(['absent forced a=true']);
  });

  test('A-8 does not hold itself up, alone or with another', () => {
    const node = { labels: { a: 'true', b: 'true' }, ownedLabels: new Set(['a', 'b']), ...listing('a', 'b') };
    expect(claims({ a: 'b', b: 'a' }, node)).toEqual(['absent forced a=true', 'absent forced b=true']);
  });

  test('counts for other rules where another writer applied it as well, as it stays then', () => {
    const both = new Set(['a']);
    const node = { labels: { a: 'true' }, ownedLabels: both, sharedLabels: both, ...listing('a') };
    expect(claims({ b: 'a' }, node)).toContain('present forced b=true');
  });

  test('counts for other rules where a person made it theirs, once no rule gives it at all', () => {
    const node = { labels: { a: 'false' }, ...listing('a') };
    expect(claims({ b: 'a' }, node)).toContain('present forced b=true');
    expect(claims({ a: 'x', b: 'a' }, node)).not.toContain('present forced b=true');
  });

  test('counts for other rules where another labeler wants it', () => {
    const node = { labels: { a: 'true' }, ownedLabels: new Set(['a']), ...listing('a') };
    expect(claims({ b: 'a' }, node, new Map([['a', want]]))).toContain('present forced b=true');
  });
});

describe('a label that another labeler speaks for', () => {
  const gold = { stance: 'present', ownership: 'exclusive', value: 'gold' } as const;
  const node = { labels: { usb: 'x', a: 'gold' }, ownedLabels: new Set(['a']) };

  test('is left to it, also where it was listed for the rule, and while that labeler cannot tell', () => {
    expect(claims({ a: 'usb' }, node, new Map([['a', gold]]))).toEqual([]);
    expect(claims({ a: 'usb' }, { ...node, labels: { usb: 'x' } }, new Map([['a', gold]]))).toEqual([]);
    const held = new Map([['a', { ...gold, stance: 'keep' } as const]]);
    for (const given of [{ a: 'usb' }, { a: undefined }]) {
      for (const by of [new Map([['a', gold]]), held])
        expect(claims(given, { ...node, ...listing('a') }, by)).toEqual([]);
    }
  });
});

test('a label whose rules are unknown stays as it is, there or not', () => {
  expect(claims({ a: undefined }, { labels: { a: 'true' }, ...listing('a') })).toEqual(['keep forced a=true']);
  expect(claims({ a: undefined }, {})).toEqual([]);
});

test('one that rollcall applied stays, too, where the list was deleted or garbled, or names others', () => {
  const node = { labels: { a: 'true', b: 'true' }, ownedLabels: new Set(['a']) };
  for (const annotations of [{}, { [LIST]: '["a' }]) {
    expect(claims({ a: undefined, b: undefined }, { ...node, annotations })).toEqual(['keep forced a=true']);
  }
  expect(claims({ a: undefined }, { ...node, ...listing('b') })).toContain('keep forced a=true');
  const going = new Map([['a', { ...want, stance: 'absent' } as const]]);
  expect(claims({ a: undefined }, node, going)).toEqual([]);
});

test('a label that is about to go implies nothing', () => {
  const node = { labels: { usb: 'true' }, ownedLabels: new Set(['usb']) };
  const going = new Map([['usb', { ...want, stance: 'absent' } as const]]);
  expect(claims({ a: 'usb' }, node, going)).toEqual([]);
  const shared = { ...node, sharedLabels: new Set(['usb']) };
  expect(claims({ a: 'usb' }, shared, going)).toContain('present forced a=true');
});

test('a label leaves for what was configured where its rule is gone, and by evidence where the rule is still there', () => {
  const node = { ...snapshot({ labels: { a: 'true' }, ...listing('a') }), readiness: new Map(), ageMs: 0 };
  const first = (given: Implied) =>
    impliedLabels(
      () => rules(given),
      registryOf(),
      () => [],
    ).claims(node, new Map(), new Map())[0];
  expect(first({})).toMatchObject({ cause: 'configuration', object: 'rule a' });
  expect(first({ a: 'usb' })).toMatchObject({ cause: 'evidence', object: 'rule a' });
});

test('the origin of a label says whether its rule builds on a label of a service', () => {
  const node = { ...snapshot({ labels: { usb: 'x' } }), readiness: new Map(), ageMs: 0 };
  const service = serviceOf('mirror', { publish: publishing('example.com/mirror', 'example.com/no-mirror') });
  const asked: string[][] = [];
  const dependents = (labels: Iterable<string>) => {
    asked.push([...labels]);
    return new Set(['a']);
  };
  const given = { ...rules({ a: 'usb', b: 'usb' }), dependents };
  const services = [service];
  const labeler = impliedLabels(
    () => given,
    registryOf(),
    () => services,
  );
  const origins = () => labeler.claims(node, new Map(), new Map()).map(({ origin }) => origin);
  expect([origins(), origins()]).toEqual([
    ['rule:service', 'rule'],
    ['rule:service', 'rule'],
  ]);
  expect(asked).toEqual([['example.com/mirror']]);
});

describe('the origin of a label whose rule builds on a label of a service', () => {
  const READY = 'example.com/mirror';
  const service = serviceOf('mirror', { publish: publishing(READY, 'example.com/no-mirror') });
  /** `a` follows from the label of the service, and `b` from its absence. */
  const given = { ...rules({ a: READY, b: 'usb' }), dependents: (asked: Iterable<string>) => dependentsOf([...asked]) };
  const dependentsOf = (asked: readonly string[]) => new Set(asked.includes(READY) ? ['a', 'b'] : []);
  const listed = (keys: Readonly<Record<string, string>>) => ({ annotations: { [LIST]: JSON.stringify(keys) } });

  function originsOn(
    change: Partial<EvaluatedNode>,
    services: readonly Service[] = [],
  ): Record<string, string | undefined> {
    const node = { ...snapshot(change), readiness: new Map(), ageMs: 0 };
    const labeler = impliedLabels(
      () => given,
      registryOf(),
      () => services,
    );
    return Object.fromEntries(labeler.claims(node, new Map(), new Map()).map(({ key, origin }) => [key, origin]));
  }

  const both = { a: 'rule:service', b: 'rule:service' };
  const labels = { usb: 'x', [READY]: 'true' };

  test('stays while the Node lists that label, although the service is not known', () => {
    for (const origin of ['service:u1', 'service:', 'gitpod']) {
      expect(originsOn({ labels, servicesKnown: true, ...listed({ [`label:${READY}`]: origin }) })).toEqual(both);
    }
    const earlier = { annotations: { 'rollcall.dev/service-keys': JSON.stringify({ labels: [READY] }) } };
    expect(originsOn({ labels, servicesKnown: true, ...earlier })).toEqual(both);
  });

  test('stays as it is listed while NodeServices are not known, and is a rule alone once they are', () => {
    const node = { labels, ...listed({ 'label:a': 'rule:service', 'label:b': 'rule:service' }) };
    expect(originsOn({ ...node, servicesKnown: false })).toEqual(both);
    expect(originsOn({ ...node, servicesKnown: true })).toEqual({ a: 'rule', b: 'rule' });
    expect(originsOn({ ...node, servicesKnown: true }, [service])).toEqual(both);
  });

  test('is a rule alone where the Node lists that label for a pool or a rule', () => {
    for (const origin of ['rule', 'rule:service', 'device']) {
      const node = { labels, servicesKnown: true, ...listed({ [`label:${READY}`]: origin }) };
      expect(originsOn(node)).toMatchObject({ b: 'rule' });
    }
  });
});
