import type { DeviceReport } from '@rollcall/common/report.ts';
import { expect, test } from 'vitest';
import type { IntentEntry } from '../../decide/intent/intent.ts';
import type { DeviceGrammar } from '../../decide/labelers/device-grammar.ts';
import type { EvaluatedNode } from '../../decide/labelers/labeler.ts';
import { snapshot } from '../../decide/readiness/readiness.test-fixtures.ts';
import { parseRuleFile } from '../../decide/rules/parse-rule-file.ts';
import { RuleSet } from '../../decide/rules/rule-set.ts';
import { ruleOnNode } from './rule-on-node.ts';

const GRAMMAR: DeviceGrammar = {
  labels: 'all',
  pci: { deviceClassWhitelist: ['03'], deviceLabelFields: ['class', 'vendor'] },
  usb: { deviceClassWhitelist: ['ff'], deviceLabelFields: ['class', 'vendor', 'device'] },
};
const DISK: DeviceReport = { bus: 'pci', attributes: { class: '0108', vendor: '8086', device: '0953' } };
const DISK_LABEL = 'feature.node.kubernetes.io/pci-0108_8086.present';

type Change = { intent?: readonly Partial<IntentEntry>[]; node?: Partial<EvaluatedNode>; grammar?: DeviceGrammar };

function linesOf(text: string, { intent = [], node = {}, grammar = GRAMMAR }: Change = {}) {
  const rules = new RuleSet([
    { label: 'example.com/a', file: 'example.com/a', conditions: parseRuleFile(text).conditions },
    { label: 'example.com/b', file: 'example.com/b', conditions: parseRuleFile('tier=gold').conditions },
  ]);
  const evaluated = { ...snapshot(node), readiness: new Map(), ageMs: 0 } as EvaluatedNode;
  const entries = intent.map((entry) => [`${entry.kind}:${entry.key}`, entry as IntentEntry] as const);
  const decision = { evaluated, intent: new Map(entries) };
  return ruleOnNode('example.com/a', decision, rules, { factLabels: [], deviceGrammar: grammar })?.lines;
}

test('each line says which term is not so, and what was found', () => {
  const labels = { tier: 'silver', zone: 'a' };
  expect(linesOf('# gold\nzone && tier=gold\nzone && !tier\nexample.com/b\nzone=a', { node: { labels } })).toEqual([
    { line: 2, text: 'zone && tier=gold', truth: 'no', found: expect.stringContaining('tier') },
    { line: 3, text: 'zone && !tier', truth: 'no', found: expect.stringContaining('tier') },
    { line: 4, text: 'example.com/b', truth: 'no', found: 'the node has no example.com/b' },
    { line: 5, text: 'zone=a', truth: 'yes', found: expect.any(String) },
  ]);
});

test('a label that is about to come counts as there, and one that may still come is no reason against its denial', () => {
  const intent = [{ kind: 'label', key: 'soon', stance: 'present', value: '1', labeler: 'pool-labels' }] as const;
  expect(linesOf('soon=1', { intent })).toMatchObject([{ truth: 'yes' }]);
  expect(linesOf(`!${DISK_LABEL}`)).toMatchObject([{ truth: 'unknown' }]);
});

test('a device that the configuration leaves out is the reason that its label is not there', () => {
  const node = { machine: { devices: [DISK], facts: {} } };
  expect(linesOf(DISK_LABEL, { node })).toEqual([
    {
      ...{ line: 1, text: DISK_LABEL, truth: 'no', found: `the node has no ${DISK_LABEL}` },
      left: 'the agent sees PCI device 8086:0953 of class 0108, but its class 0108 is not in --pci-device-class-whitelist (03)',
    },
  ]);
  expect(linesOf(DISK_LABEL, { node, grammar: { ...GRAMMAR, labels: 'none' } })?.[0]?.left).toContain(
    'but --hardware-labels=none leaves its label out',
  );
  expect(linesOf(DISK_LABEL, { node: { machine: { devices: [], facts: {} } } })?.[0]).not.toHaveProperty('left');
});

test('a label that no rule gives is not explained', () => {
  const decision = {
    evaluated: { ...snapshot({}), readiness: new Map(), ageMs: 0 } as EvaluatedNode,
    intent: new Map(),
  };
  expect(ruleOnNode('x', decision, new RuleSet([]), { factLabels: [], deviceGrammar: GRAMMAR })).toBeUndefined();
});
