import { atOnce } from '@rollcall/common/slices.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { KEYS_ANNOTATION, MANAGED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import { registryOf } from '../model/keys/key-registry.test-fixtures.ts';
import { serviceOf } from '../model/services.test-fixtures.ts';
import { fleetWith, listPoolLabels } from '../state/fleet.test-fixtures.ts';
import { LabelOwners } from './label-owners.ts';
import { parseRuleFile } from './rules/parse-rule-file.ts';
import { RuleSet } from './rules/rule-set.ts';

const TIER = 'example.com/tier';
const GPU = 'example.com/gpu';
const READY = 'example.com/driver-ready';

function pool(name: string, createdAt: string, labels: Record<string, string> = { [TIER]: 'x' }) {
  return {
    ...{ kind: 'NodePoolLabels' as const, uid: `uid-${name}`, name, namespace: 'rollcall', generation: 1 },
    ...{ createdAt, pool: name, labels, status: undefined },
  };
}

const OF_POOL = { [MANAGED_LABELS_ANNOTATION]: JSON.stringify([TIER]) };
const OF_RULE = { [KEYS_ANNOTATION]: JSON.stringify({ [`label:${TIER}`]: 'rule' }) };

/** With one Node that has these annotations, and these rules by their label. */
function ownersWith(
  annotations: Record<string, string>,
  files: Record<string, string>,
  pools = [pool('a', '2026-01-02')],
) {
  const fleet = fleetWith({
    clock: new FakeClock(),
    annotationsOfInterest: new Set([KEYS_ANNOTATION, MANAGED_LABELS_ANNOTATION]),
  });
  fleet.nodeHandlers.onReplace([
    fleet.observe({ metadata: { name: 'n', uid: 'n', resourceVersion: '1', annotations } }),
  ]);
  listPoolLabels(fleet, pools);
  const rules = Object.entries(files).map(([label, content]) => ({
    label,
    file: label,
    conditions: parseRuleFile(content).conditions,
  }));
  const ruleSet = atOnce(RuleSet.build(rules));
  const reserved = { keys: registryOf(), domains: [], allowedPrefixes: [] };
  return new LabelOwners({ fleet, reserved, rules: () => ruleSet });
}

const claimants = (owners: LabelOwners, label: string) =>
  owners.claimantsOf({ kind: 'label', key: label } as never).map(({ name, isOnNodes }) => [name, isOnNodes]);

test('a label that a pool and a rule want is wanted by both, and the pool, which has an age, has it', () => {
  const owners = ownersWith({}, { [TIER]: 'arch = amd64 => x' });
  expect(claimants(owners, TIER)).toEqual([
    ['NodePoolLabels rollcall/a', false],
    [`the rule ${TIER}`, false],
  ]);
  expect([...owners.owners()]).toEqual([[TIER, { kind: 'pool', name: 'NodePoolLabels rollcall/a' }]]);
});

test('a rule that has the label on a Node keeps it, and so does a pool', () => {
  const rule = { [TIER]: 'arch = amd64 => x' };
  expect(ownersWith(OF_RULE, rule).owners().get(TIER)?.kind).toBe('rule');
  expect(ownersWith(OF_POOL, rule).owners().get(TIER)?.kind).toBe('pool');
  expect(claimants(ownersWith(OF_POOL, rule), TIER)[0]).toEqual(['NodePoolLabels rollcall/a', true]);
});

test('the oldest of several pools stands for all of them', () => {
  const pools = [pool('young', '2026-03-01'), pool('old', '2026-01-01'), pool('other', '2025-01-01', { [GPU]: '1' })];
  expect(claimants(ownersWith({}, {}, pools), TIER)).toEqual([['NodePoolLabels rollcall/old', false]]);
});

test('a label that one of them wants has no owner by itself, and another kind of key no claimant', () => {
  const owners = ownersWith({}, { [GPU]: 'arch = amd64 => 1' });
  expect([...owners.owners()]).toEqual([]);
  expect(claimants(owners, GPU)).toEqual([[`the rule ${GPU}`, false]]);
  expect(claimants(owners, TIER)).toEqual([['NodePoolLabels rollcall/a', false]]);
  expect(owners.claimantsOf({ kind: 'taint', key: TIER } as never)).toEqual([]);
});

test('whether a key is on Nodes depends on who has it there', () => {
  const owners = ownersWith(OF_POOL, {});
  expect([owners.isOnNodes('label', TIER, 'pool'), owners.isOnNodes('label', TIER, 'rule')]).toEqual([true, false]);
});

test('a line is refused where another has its label, or an older NodeService selects by what it would derive', () => {
  const content = `${READY} = true => 1\narch = amd64 => 1`;
  const owners = ownersWith({}, { [GPU]: content });
  const publishing = serviceOf('driver', { publish: { label: READY } });
  const selecting = serviceOf('job', { publish: {}, nodeSelector: { matchLabels: { [GPU]: '1' } } });
  const [derived, plain] = parseRuleFile(content).conditions;
  const reasons = (
    services: Parameters<typeof owners.refusedLines>[0],
    ownerOfLabel: (label: string) => string | undefined,
  ) => {
    const refuse = owners.refusedLines(services, ownerOfLabel);
    return [derived, plain].map((condition) => condition && refuse({ label: GPU } as never, condition));
  };
  expect(reasons([publishing, selecting], () => undefined)).toEqual([
    `derives ${GPU} from ${READY}, a label of a service, but the nodeSelector of the NodeService job, which is older, names ${GPU}`,
    undefined,
  ]);
  expect(reasons([publishing], () => undefined)).toEqual([undefined, undefined]);
  expect(reasons([], () => 'is taken')).toEqual([`gives ${GPU}, which is taken`, `gives ${GPU}, which is taken`]);
});

test('a pattern derives a label where it matches one of a service', () => {
  const content = 'example.com/*-ready = true => 1';
  const owners = ownersWith({}, { [GPU]: content });
  const services = [
    serviceOf('driver', { publish: { label: READY } }),
    serviceOf('job', { publish: {}, nodeSelector: { matchLabels: { [GPU]: '1' } } }),
  ];
  const [condition] = parseRuleFile(content).conditions;
  const refuse = owners.refusedLines(services, () => undefined);
  expect(condition && refuse({ label: GPU } as never, condition)).toMatch(/^derives .* from example\.com\/\*-ready/);
});
