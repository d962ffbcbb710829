import { KARPENTER_POOL_LABEL, STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { expect, test } from 'vitest';
import { registryOf } from '../../model/keys/key-registry.test-fixtures.ts';
import { OWN_KEYS } from '../../model/keys/own-keys.ts';
import { gated, publishing, serviceOf } from '../../model/services.test-fixtures.ts';
import type { NodeSnapshot } from '../../state/snapshot.ts';
import { snapshot, WS_DAEMON_SERVICE } from '../readiness/readiness.test-fixtures.ts';
import type { ServiceReadiness } from '../readiness/tracker.ts';
import { createLabelers } from './index.ts';
import type { Claim, EvaluatedNode } from './labeler.ts';
import { rulesOf } from './rules.test-fixtures.ts';

const MIRROR = serviceOf('mirror', {
  mode: 'Startup',
  publish: { ...publishing('example.com/mirror', 'example.com/no-mirror'), condition: 'example.com/MirrorReady' },
  origin: { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 },
});
const SERVICES = [gated(WS_DAEMON_SERVICE, 'both'), MIRROR];
const keys = registryOf({ watchedServices: SERVICES, startupGateRequires: ['tier'] });
const rules = rulesOf(['accelerators/edgetpu'], {
  implied: { 'accelerators/edgetpu': { value: 'true', reason: 'a rule' } },
});
const { labelers, consequences } = createLabelers({
  services: () => SERVICES,
  serviceUids: () => new Set(),
  withheldTaint: () => undefined,
  hasEvictionPlace: () => true,
  keys,
  forbiddenLabelDomains: [],
  poolsAllowedPrefixes: [],
  poolsRemovedLabels: [],
  startupGate: { requires: ['tier'], maxWaitMs: 1000 },
  deviceGrammar: {
    labels: 'all',
    pci: { deviceClassWhitelist: ['03'], deviceLabelFields: [] },
    usb: { deviceClassWhitelist: ['fe'], deviceLabelFields: [] },
  },
  factLabels: ['board'],
  rules: () => rules,
  eviction: { isIgnored: () => false },
});

const machine: NonNullable<NodeSnapshot['machine']> = {
  devices: [
    { bus: 'usb', attributes: { class: 'fe', vendor: '1a6e', device: '089a' } },
    { bus: 'pci', attributes: { class: '0300', vendor: '10de', device: '1eb8' } },
    { bus: 'device-tree', attributes: { compatible: 'xlnx,zynq-7000' } },
  ],
  facts: { board: 'x' },
};
const poolLabelSet = {
  kind: 'NodePoolLabels' as const,
  ...{ uid: 'u', name: 'gold', namespace: 'rollcall', generation: 1, createdAt: '', pool: 'gold' },
  ...{ labels: { tier: 'gold', 'fact.rollcall.dev/board': 'y' }, status: undefined },
};
/** A node on which every labeler has something to say, and what it leaves when all of that is over. */
const busy: Partial<EvaluatedNode> = {
  ...{ machine, pool: 'gold', poolLabelSet, schedulingHint: 'now', takenLabels: { a: 'true' }, workspaces: [] },
  labels: { [KARPENTER_POOL_LABEL]: 'gold' },
  annotations: { 'rollcall.dev/keys': '{"label:old":"service:gone","taint:old":"service:gone"}' },
  taints: [{ key: STARTUP_TAINT, effect: 'NoSchedule' }],
};
const bare: Partial<EvaluatedNode> = {
  labels: {
    tier: 'gold',
    'accelerators/edgetpu': 'true',
    'fact.rollcall.dev/board': 'x',
    'beta.devicetree.org/x': '1',
  },
  ownedLabels: new Set(['tier', 'fact.rollcall.dev/board', 'beta.devicetree.org/x']),
};
const ready: ServiceReadiness = { state: 'ready', reason: 'because', cause: 'agent', sinceMs: 0 };
const readiness = new Map(SERVICES.map(({ name }) => [name, ready]));
const nodes = [
  busy,
  bare,
  { ...bare, poolLabelSetsKnown: false },
  { ...bare, servicesKnown: false },
  { readiness },
].map((change): EvaluatedNode => ({ ...snapshot(change), readiness: new Map(), ageMs: 0, ...change }));

function claimsOf(node: EvaluatedNode): (Claim & { labeler: string })[] {
  const first = labelers.flatMap(({ name, claims }) => claims(node).map((claim) => ({ ...claim, labeler: name })));
  const all = [...first];
  for (const { name, claims } of consequences) {
    const wishes = new Map(all.filter(({ kind }) => kind === 'label').map((claim) => [claim.key, claim]));
    const claimed = new Map(all.map((claim) => [`${claim.kind}:${claim.key}`, claim]));
    all.push(...claims(node, wishes, claimed).map((claim) => ({ ...claim, labeler: name })));
  }
  return all;
}

const claims = nodes.flatMap(claimsOf);
/** Labelers whose keys come from data. */
const BY_DATA = ['pool-labels', 'implied-labels', 'left-over-keys'];

test('every labeler speaks of its own keys alone', () => {
  const strangers = claims.filter(({ kind, key, labeler }) => {
    const entry = keys.entryOf(kind, key);
    return entry ? entry.labeler !== labeler : !BY_DATA.includes(labeler);
  });
  expect(strangers.map(({ kind, key, labeler }) => `${labeler}: ${kind} ${key}`)).toEqual([]);
});

test('what a labeler wants, it wants as the registry says', () => {
  const wanted = claims.filter(({ stance }) => stance === 'present');
  const wrong = wanted.filter(({ kind, key, ownership }) => {
    const entry = keys.entryOf(kind, key);
    return entry && entry.ownership !== ownership;
  });
  expect(wrong).toEqual([]);
});

test('every key in the registry has a labeler that speaks of it, and every labeler has keys there', () => {
  // The claims on the list of left-over keys are made with the plan.
  const written = OWN_KEYS.filter(({ ownership, labeler }) => ownership !== 'theirs' && labeler !== 'left-over-keys');
  const isSpokenOf = ({ kind, keys: which, labeler }: (typeof OWN_KEYS)[number]) =>
    claims.some((claim) => {
      if (claim.kind !== kind || claim.labeler !== labeler) return false;
      if ('name' in which) return claim.key === which.name;
      return 'prefix' in which ? claim.key.startsWith(which.prefix) : keys.entryOf(kind, claim.key) === undefined;
    });
  expect(written.filter((entry) => !isSpokenOf(entry))).toEqual([]);
  const known = new Set(keys.entries.map(({ labeler }) => labeler));
  expect([...labelers, ...consequences].map(({ name }) => name).filter((name) => !known.has(name))).toEqual([]);
});
