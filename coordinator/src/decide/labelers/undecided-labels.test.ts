import { describe, expect, test } from 'vitest';
import { registryOf } from '../../model/keys/key-registry.test-fixtures.ts';
import type { NodeSnapshot } from '../../state/snapshot.ts';
import { snapshot } from '../readiness/readiness.test-fixtures.ts';
import { parseRuleFile } from '../rules/parse-rule-file.ts';
import { RuleSet } from '../rules/rule-set.ts';
import { impliedLabels } from './implied-labels.ts';
import { undecidedByAgent, undecidedLabels } from './undecided-labels.ts';

function rulesFrom(files: Record<string, string>): RuleSet {
  return new RuleSet(
    Object.entries(files).map(([file, text]) => ({ label: file, file, conditions: parseRuleFile(text).conditions })),
  );
}

const SPOKEN = { devices: [], facts: {} };
const TPU = 'device.rollcall.dev/edgetpu';
const NFD = 'feature.node.kubernetes.io/pci-0880_1ac1.present';

describe('a rule about a label that the node does not have', () => {
  const truth = (line: string, change: Partial<NodeSnapshot>) => {
    const node = snapshot(change);
    const { implied, unknown } = rulesFrom({ a: line }).evaluate({}, node.inventory, undecidedByAgent(node, ['board']));
    return implied.has('a') ? 'yes' : unknown.has('a') ? 'unknown' : 'no';
  };

  test.each([
    [TPU, 'unknown', 'no'],
    [`!${TPU}`, 'unknown', 'yes'],
    ['device.rollcall.dev/*', 'unknown', 'no'],
    ['!device.*', 'unknown', 'yes'],
    ['fact.rollcall.dev/board', 'unknown', 'no'],
    ['!fact.rollcall.dev/board = pi', 'unknown', 'yes'],
    ['!fact.rollcall.dev/other', 'yes', 'yes'],
    // Others write these as well: what is not there is absent, but it may still come.
    [NFD, 'no', 'no'],
    [`!${NFD}`, 'unknown', 'yes'],
    ['!feature.node.kubernetes.io/pci-*', 'unknown', 'yes'],
    ['!beta.devicetree.org/x', 'unknown', 'yes'],
    ['!example.com/*', 'yes', 'yes'],
  ])('is %s: %s before the agent has spoken, and then %s', (line, before, then) => {
    expect([truth(line, { freshness: { state: 'unheard' } }), truth(line, { machine: SPOKEN })]).toEqual([
      before,
      then,
    ]);
  });

  test('is unknown while the agent cannot read what decides', () => {
    const reading = (...unread: ('usb' | 'pci' | 'facts')[]) => ({ machine: { ...SPOKEN, unread } });
    expect(truth(`!${NFD}`, reading('pci'))).toBe('unknown');
    expect(truth(`!${NFD}`, reading('usb', 'facts'))).toBe('yes');
    expect(truth('!fact.rollcall.dev/board', reading('facts'))).toBe('unknown');
    expect(truth('!fact.rollcall.dev/board', reading('pci'))).toBe('yes');
  });

  test('is unknown without an agent where only an agent decides, and its absence is asked for', () => {
    const freshness = { state: 'absent' } as const;
    for (const line of [TPU, 'device.*', 'fact.rollcall.dev/board', `${TPU} || ${NFD}`])
      expect(truth(line, { freshness })).toBe('no');
    expect(truth(`!${TPU}`, { freshness })).toBe('unknown');
    expect(truth(`!${NFD}`, { freshness })).toBe('yes');
  });
});

test('a selector may name a label of a rule that builds on what an agent has not said', () => {
  const rules = rulesFrom({ vendor: 'fact:system-vendor', tpu: TPU, zone: 'example.com/zone' });
  const undecided = undecidedLabels([], () => rules);
  const of = (change: Partial<NodeSnapshot>) => {
    const why = undecided(snapshot(change));
    return ['vendor', 'tpu', 'zone', TPU, NFD, 'other'].filter((key) => why(key) !== undefined);
  };
  expect(of({})).toEqual(['vendor', 'tpu', TPU, NFD]);
  expect(of({ machine: SPOKEN })).toEqual([]);
  expect(of({ machine: { ...SPOKEN, unread: ['facts'] } })).toEqual(['vendor']);
});

test.each(['count:edgetpu >= 1', 'driver:edgetpu', 'module:apex', 'cpu:avx2'])(
  'a label that the rule "%s" gave goes where agents are switched off: nothing vouches for it any more',
  (line) => {
    const annotations = { 'rollcall.dev/keys': '{"label:example.com/a":"rule"}' };
    const labels = { 'example.com/a': 'true' };
    const node = snapshot({ freshness: { state: 'none' }, services: new Map(), labels, annotations });
    const rules = rulesFrom({ 'example.com/a': line });
    const [claim] = impliedLabels(
      () => rules,
      registryOf(),
      () => [],
    ).claims({ ...node, readiness: new Map(), ageMs: 0 }, new Map(), new Map());
    expect(claim).toMatchObject({ key: 'example.com/a', stance: 'absent' });
  },
);
