import { atOnce } from '@rollcall/common/slices.ts';
import { SERVICE_LIST_BYTES_MAX } from '@rollcall/common/well-known.ts';
import { describe, expect, test } from 'vitest';
import type { NodeService } from '../../kube/objects.ts';
import type { Claimant } from '../../model/keys/key-owner.ts';
import { registryOf } from '../../model/keys/key-registry.test-fixtures.ts';
import { serviceOf } from '../../model/services.test-fixtures.ts';
import { observePod } from '../observed-pod.ts';
import { serviceList } from '../probe-targets.ts';
import { type AcceptanceOptions, acceptanceOf, NO_CLAIMS, type Refusals } from './acceptance.ts';
import { type ObservedNodeService, observeNodeService } from './node-service.ts';

const GITPOD = serviceOf();
const TAINT = { key: 'example.com/no-a', effect: 'NoSchedule' };
const PORT = { name: 'port', tcp: { port: 1 } };

function object(name: string, spec: NodeService['spec'], createdAt = '2026-01-01T00:00:00Z'): ObservedNodeService {
  const metadata = { name, uid: name, resourceVersion: '1', generation: 1, creationTimestamp: createdAt };
  return observeNodeService({ metadata, spec: { checks: [PORT], ...spec } });
}

const many = (count: number) => Array.from({ length: count }, (_, index) => ({ ...PORT, name: `c${index}` }));

const OPTIONS: AcceptanceOptions = {
  builtIn: [GITPOD],
  keys: registryOf({ watchedServices: [GITPOD], poolLabels: ['agentpool'] }),
  allowedPrefixes: [],
  allowNoExecute: false,
  conditions: true,
  allowedConditions: [],
  agents: true,
  agentProbesPerSecond: 1000,
  impliedBy: () => new Set(),
  claims: NO_CLAIMS,
};

function* refusalsOf(...asked: Parameters<typeof acceptanceOf>): Generator<undefined, Refusals> {
  return (yield* acceptanceOf(...asked)).refusals;
}

/** The reasons why these are refused, by name; those that are accepted are not named. */
function refused(
  objects: readonly ObservedNodeService[],
  change: Partial<AcceptanceOptions> = {},
): Record<string, string> {
  const refusals = atOnce(refusalsOf(objects, { ...OPTIONS, ...change }));
  return Object.fromEntries([...refusals].flatMap(([{ name }, refusal]) => (refusal ? [[name, refusal.reason]] : [])));
}

describe('a check of a condition', () => {
  const YOUNG = '2026-01-02T00:00:00Z';
  const checks = (type: string) => [{ name: 'kernel', condition: { type } }];

  test('may not be of one that the service publishes itself, or an older service', () => {
    const own = object('own', { checks: checks('example.com/A'), publish: { condition: 'example.com/A' } });
    expect(refused([own])).toEqual({ own: 'ChecksOwnCondition' });
    const older = object('z', { publish: { condition: 'example.com/A' } });
    const younger = object('a', { checks: checks('example.com/A') }, YOUNG);
    expect(refused([younger, older])).toEqual({ a: 'ChecksOwnCondition' });
  });

  test('keeps a younger service from publishing it', () => {
    const older = object('z', { checks: [{ name: 'any', anyOf: checks('example.com/A') }] });
    const younger = object('a', { publish: { condition: 'example.com/A' } }, YOUNG);
    expect(refused([younger, older])).toEqual({ a: 'ConditionChecked' });
  });

  test('does not count where the service is refused', () => {
    const older = object('z', { checks: checks('example.com/A'), publish: { label: 'agentpool' } });
    const younger = object('a', { publish: { condition: 'example.com/A' } }, YOUNG);
    expect(Object.keys(refused([younger, older]))).toEqual(['z']);
  });

  test.each(['Ready', 'MemoryPressure'])('may not be of one that the kubelet writes: %s', (type) => {
    expect(refused([object('a', { checks: checks(type) })])).toEqual({ a: 'KubeletCondition' });
  });
});

/** A rule that derives the label `implied` from the default label of this service. */
const impliedByLabelOf = (name: string) => (labels: readonly string[]) =>
  new Set(labels.includes(`service.rollcall.dev/${name}`) ? ['implied'] : []);

describe('of two services with one key', () => {
  const older = object('z', { publish: { label: 'example.com/a' } });
  const younger = object('a', { publish: { label: 'example.com/a' } }, '2026-01-02T00:00:00Z');

  test('the older has it, in whatever order they come', () => {
    expect(refused([older, younger])).toEqual({ a: 'KeyTaken' });
    expect(refused([younger, older])).toEqual({ a: 'KeyTaken' });
  });

  test('the one whose name sorts first has it, where they are of one age', () => {
    expect(refused([older, object('b', { publish: { label: 'example.com/a' } })])).toEqual({ z: 'KeyTaken' });
  });

  test('a condition is such a key as well', () => {
    const condition = { publish: { condition: 'example.com/A' } };
    expect(refused([object('a', condition), object('b', condition)])).toEqual({ b: 'KeyTaken' });
  });

  test('one that is not accepted has none', () => {
    const bad = object('bad', {
      publish: { label: 'example.com/a' },
      nodeSelector: { matchLabels: { 'example.com/a': 'true' } },
    });
    expect(refused([bad, younger])).toEqual({ bad: 'SelectsByService' });
  });

  test('a label and a taint may have the same', () => {
    expect(refused([older, object('taint', { publish: { taint: { ...TAINT, key: 'example.com/a' } } })])).toEqual({});
  });
});

describe('of two services of which one selects nodes by the label of the other', () => {
  const YOUNGER = '2026-01-02T00:00:00Z';
  const GPU = 'nvidia.com/gpu.present';
  const selects = (key: string) => ({ nodeSelector: { matchLabels: { [key]: 'true' } } });

  test('the younger is refused, whichever it is', () => {
    const label = { publish: { label: GPU } };
    expect(refused([object('older', selects(GPU)), object('younger', label, YOUNGER)])).toEqual({
      younger: 'LabelSelectsNodes',
    });
    expect(refused([object('older', label), object('younger', selects(GPU), YOUNGER)])).toEqual({
      younger: 'SelectsByService',
    });
  });

  test('the younger is refused where a rule derives the one label from the other', () => {
    const impliedBy = impliedByLabelOf('b');
    const [a, b] = [selects('implied'), {}];
    expect(refused([object('a', a), object('b', b, YOUNGER)], { impliedBy })).toEqual({ b: 'LabelSelectsNodes' });
    expect(refused([object('b', b), object('a', a, YOUNGER)], { impliedBy })).toEqual({ a: 'SelectsByService' });
  });

  test('both are in force where the younger is refused for another reason', () => {
    const mistake = object('mistake', { publish: { label: GPU } }, YOUNGER);
    const objects = [object('a', selects(GPU)), object('b', selects(GPU)), mistake];
    expect(refused(objects, { allowedPrefixes: ['service.rollcall.dev/'] })).toEqual({ mistake: 'PrefixNotAllowed' });
  });

  test('the older is named, and the label', () => {
    const objects = [object('older', selects(GPU)), object('younger', { publish: { label: GPU } }, YOUNGER)];
    expect([...atOnce(refusalsOf(objects, OPTIONS)).values()][1]?.message).toBe(
      'The nodeSelector of older, which is older, names nvidia.com/gpu.present: choose another label',
    );
    const impliedBy = impliedByLabelOf('b');
    const derived = [object('a', selects('implied')), object('b', {}, YOUNGER)];
    expect([...atOnce(refusalsOf(derived, { ...OPTIONS, impliedBy })).values()][1]?.message).toBe(
      'The nodeSelector of a, which is older, names implied, which a rule derives from service.rollcall.dev/b: choose another label',
    );
  });
});

test('a service is refused whose nodes are selected by the label of a service of Gitpod, also by way of rules', () => {
  const label = GITPOD.publish.label ?? '';
  const by = (key: string) => object('a', { nodeSelector: { matchLabels: { [key]: 'true' } } });
  expect(refused([by(label)])).toEqual({ a: 'SelectsByService' });
  const impliedBy = (labels: readonly string[]) => new Set(labels.includes(label) ? ['implied'] : []);
  expect(refused([by('implied')], { impliedBy })).toEqual({ a: 'SelectsByService' });
});

test('no object changes what becomes of those that are older, whatever it publishes and selects', () => {
  const labels = ['example.com/a', 'example.com/b', 'agentpool'];
  const impliedBy = (asked: readonly string[]) => new Set(asked.includes('example.com/a') ? ['example.com/b'] : []);
  const specs = labels.flatMap((label) =>
    [undefined, 'example.com/a', 'example.com/b'].map((key) => ({
      publish: { label },
      ...(key === undefined ? {} : { nodeSelector: { matchLabels: { [key]: 'true' } } }),
    })),
  );
  for (const first of specs) {
    for (const second of specs) {
      const older = [object('z', first), object('y', second, '2026-01-02T00:00:00Z')];
      const expected = refused(older, { impliedBy });
      for (const third of specs) {
        const { a: _a, ...found } = refused([...older, object('a', third, '2026-01-03T00:00:00Z')], { impliedBy });
        expect(found).toEqual(expected);
      }
    }
  }
});

test('a taint that evicts is refused unless that is allowed', () => {
  const evicting = object('a', { publish: { taint: { ...TAINT, effect: 'NoExecute' } } });
  expect(refused([evicting])).toEqual({ a: 'NoExecuteNotAllowed' });
  expect(refused([evicting], { allowNoExecute: true })).toEqual({});
});

test('a name that is too long for its label is refused, unless it makes none', () => {
  const name = 'a'.repeat(64);
  expect(refused([object(name, {}), object('b'.repeat(63), {})])).toEqual({ [name]: 'NameTooLong' });
  expect(refused([object(name, { publish: { label: 'example.com/a' } })])).toEqual({});
});

describe('a service is refused', () => {
  test.each<[string, NodeService['spec'], string]>([
    ['an unknown device', { checks: [PORT, { name: 'a', device: { name: 'nvida-gpu' } }] }, 'UnknownDevice'],
    [
      'an unknown device of several checks',
      { checks: [{ name: 'a', anyOf: [PORT, { name: 'b', device: { name: 'nvida-gpu' } }] }] },
      'UnknownDevice',
    ],
    [
      'a taint of Kubernetes',
      { publish: { taint: { ...TAINT, key: 'node.kubernetes.io/unreachable' } } },
      'KeyRefused',
    ],
    ['a label in a domain of taints', { publish: { label: 'readiness.k8s.io/a' } }, 'KeyRefused'],
    ['an unknown field', { pubish: {} }, 'UnknownField'],
    ['no check', { checks: [] }, 'InvalidChecks'],
    ['17 checks', { checks: many(17) }, 'InvalidChecks'],
    ['a period of more than an hour', { checks: [{ ...PORT, period: '61m' }] }, 'InvalidChecks'],
    ['a time-out of more than an hour', { checks: [{ ...PORT, timeout: '2h' }] }, 'InvalidChecks'],
    ['two checks of one name', { checks: [PORT, PORT] }, 'InvalidChecks'],
    ['9 checks in anyOf', { checks: [{ name: 'any', anyOf: many(9) }] }, 'InvalidChecks'],
    ['two checks of one name in anyOf', { checks: [{ name: 'any', anyOf: [PORT, PORT] }] }, 'InvalidChecks'],
    ["a condition of the kubelet's", { publish: { condition: 'Ready' } }, 'KeyRefused'],
    ['a condition of maintenance', { publish: { condition: 'MaintenanceInProgress' } }, 'KeyRefused'],
    ['a condition of networks', { publish: { condition: 'NetworkUnavailable' } }, 'KeyRefused'],
    ['a condition for which Karpenter replaces nodes', { publish: { condition: 'StorageReady' } }, 'KeyRefused'],
    ['a condition that is no qualified name', { publish: { condition: 'a b' } }, 'KeyRefused'],
    ['a label that names pools', { publish: { label: 'agentpool' } }, 'KeyRefused'],
    ['a label of Kubernetes', { publish: { label: 'node.kubernetes.io/a' } }, 'KeyRefused'],
    ['a label of a service of Gitpod', { publish: { label: 'gitpod.io/ws-daemon_ready_ns_default' } }, 'KeyRefused'],
    ['a label of hardware', { publish: { label: 'device.rollcall.dev/a' } }, 'KeyRefused'],
    [
      'the taint of the startup gate',
      { publish: { taint: { ...TAINT, key: 'startup-taint.cluster-autoscaler.kubernetes.io/rollcall' } } },
      'KeyRefused',
    ],
    [
      'nodes by its own label',
      { nodeSelector: { matchExpressions: [{ key: 'service.rollcall.dev/a', operator: 'Exists' }] } },
      'SelectsByService',
    ],
  ])('for %s', (_what, spec, reason) => {
    expect(refused([object('a', spec)])).toEqual({ a: reason });
  });

  test('for nodes by a label that a rule derives from its own', () => {
    const a = object('a', { nodeSelector: { matchLabels: { implied: 'true' } } });
    expect(refused([a], { impliedBy: impliedByLabelOf('b') })).toEqual({});
    expect(refused([a], { impliedBy: impliedByLabelOf('a') })).toEqual({ a: 'SelectsByService' });
  });

  test('for a key outside of what is allowed, with the cure', () => {
    const objects = [object('a', { publish: { label: 'example.com/a' } }), object('b', {})];
    const options = { allowedPrefixes: ['service.rollcall.dev/'] };
    expect(refused(objects, options)).toEqual({ a: 'PrefixNotAllowed' });
    expect(refused(objects, { allowedPrefixes: ['service.rollcall.dev/', 'example.com/'] })).toEqual({});
  });

  test('for the name of a service of Gitpod, whatever it publishes', () => {
    expect(refused([object('ws-daemon', { publish: { label: 'example.com/a' } })])).toEqual({
      'ws-daemon': 'NameTaken',
    });
  });

  test.each([
    ['example.com/a', 'example.com/'],
    ['tier', 'tier'],
  ])('for a label %s outside of what is allowed, with the prefix to add', (label, prefix) => {
    const a = object('a', { publish: { label } });
    const [refusal] = atOnce(refusalsOf([a], { ...OPTIONS, allowedPrefixes: ['service.rollcall.dev/'] })).values();
    expect(refusal?.message).toBe(
      `The label ${label} does not begin with an allowed prefix: add ${prefix} to --services-allowed-prefixes ` +
        '(services.allowedPrefixes in the chart)',
    );
  });

  test('for any condition, where none are published', () => {
    const condition = object('a', { publish: { condition: 'example.com/A' } });
    expect(refused([condition])).toEqual({});
    expect(refused([condition], { conditions: false })).toEqual({ a: 'ConditionsOff' });
  });

  test('for a condition outside of what is allowed, for which the prefixes of taints do not count', () => {
    const objects = [
      object('a', { publish: { condition: 'example.com/A' } }),
      object('b', { publish: { condition: 'readiness.k8s.io/B' } }),
      object('c', { publish: { condition: 'StorageReady' } }),
    ];
    const allowedPrefixes = ['example.com/', 'readiness.k8s.io/', 'StorageReady'];
    expect(refused(objects, { allowedPrefixes })).toEqual({ b: 'PrefixNotAllowed', c: 'KeyRefused' });
    const allowedConditions = ['StorageReady'];
    expect(refused(objects, { allowedPrefixes, allowedConditions })).toEqual({ b: 'PrefixNotAllowed' });
    expect(refused(objects, { allowedPrefixes: ['readiness.k8s.io/'] })).toMatchObject({ a: 'PrefixNotAllowed' });
  });

  test.each([
    ['readiness.k8s.io/B', 'readiness.k8s.io/ is for taints only, choose another'],
    ['example.org/B', 'add example.org/ to --services-allowed-prefixes (services.allowedPrefixes in the chart)'],
  ])('for the condition %s with a cure that helps', (condition, cure) => {
    const options = { ...OPTIONS, allowedPrefixes: ['readiness.k8s.io/'] };
    expect([...atOnce(refusalsOf([object('a', { publish: { condition } })], options)).values()][0]?.message).toBe(
      `The condition ${condition} does not begin with an allowed prefix: ${cure}`,
    );
  });

  test.each(['readiness.k8s.io/a', 'startup-taint.cluster-autoscaler.kubernetes.io/a'])(
    'never for the taint %s',
    (key) => {
      expect(refused([object('a', { publish: { taint: { ...TAINT, key } } })])).toEqual({});
    },
  );
});

describe('the list of services for the agents', () => {
  /** So many characters, in as many headers as a check may have. */
  const manyHeaders = (character: string, size: number) =>
    Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`x-${index}`, character.repeat(size / 16)]));
  const large = (name: string, bundle: string, { header = 0, day = 1 } = {}) => {
    const headers = manyHeaders('x', header);
    const https = { port: 1, headers, caBundle: bundle.padEnd(32_768, '.') };
    return object(name, { checks: [{ name: 'port', https }] }, `2026-01-0${day}T00:00:00Z`);
  };
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];

  test('has the older services, and a smaller one that is younger', () => {
    const all = names.map((name) => large(name, name));
    const younger = object('small', {}, '2026-01-09T00:00:00Z');
    expect(refused([...all, younger])).toEqual({ h: 'ListTooLarge', i: 'ListTooLarge' });
    const older = large('z', 'z', { day: 1 });
    const dayLater = names.map((name) => large(name, name, { day: 2 }));
    expect(refused([...dayLater, older])).toEqual({ g: 'ListTooLarge', h: 'ListTooLarge', i: 'ListTooLarge' });
  });

  test('has a CA bundle once, whichever services share it', () => {
    expect(refused(names.map((name) => large(name, 'shared', { header: 16_000 })))).toEqual({});
  });

  test('counts as much as is sent: at least what JSON makes of it', () => {
    const quotes = names.map((name) =>
      object(name, { checks: [{ name: 'port', http: { port: 1, headers: manyHeaders('"', 16_000) } }] }),
    );
    expect(Object.keys(refused(quotes))).toEqual(['h', 'i']);
  });

  test('says how much is there, how much is left, and what helps', () => {
    const all = names.map((name) => large(name, name));
    expect([...atOnce(refusalsOf(all, OPTIONS)).values()].at(-1)?.message).toBe(
      'The list of services for the agents would be too large (its probes have 34 KiB, and older services leave 21 KiB of 256 KiB): shorten its caBundle and headers, use the same caBundle as other services, or delete a service',
    );
  });

  test('is never larger than the bound, however many pods the services have', () => {
    const pods = { namespace: 'default', selector: { matchLabels: { a: 'b' } } };
    const all = names
      .map((name) => large(name, name))
      .concat(
        Array.from({ length: 100 }, (_, index) =>
          object(`n${'x'.repeat(200)}${index}`, {
            checks: [{ name: 'pod', pods }, PORT],
            publish: { label: `example.com/l${index}` },
          }),
        ),
      );
    const refusals = atOnce(refusalsOf(all, OPTIONS));
    const accepted = all.filter((each) => !refusals.get(each)).map(({ service }) => service);
    expect(accepted.length).toBeLessThan(all.length);
    const onNode = Array.from({ length: 50 }, (_, index) =>
      podOf(`2001:0db8:0000:0000:0000:0000:0000:${1000 + index}`),
    );
    expect(JSON.stringify(serviceList(accepted, onNode)).length).toBeLessThan(SERVICE_LIST_BYTES_MAX);
  });
});

function podOf(podIP: string) {
  const metadata = { name: podIP, uid: podIP, namespace: 'default', resourceVersion: '1', labels: { a: 'b' } };
  return observePod({ metadata, spec: { nodeName: 'n' }, status: { podIP, hostIP: podIP } });
}

describe('a key that several want', () => {
  const LABEL = 'example.com/tier';
  const [older, younger] = ['2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z'];
  const tier = (name: string, createdAt: string) => object(name, { publish: { label: LABEL } }, createdAt);
  const RULE = { name: 'the rule example.com/tier', createdAtMs: Number.POSITIVE_INFINITY, isOnNodes: false };
  const POOL = { name: 'NodePoolLabels rollcall/gold', createdAtMs: Date.parse(older), isOnNodes: false };
  /** `listed`: origins that Nodes list the label with. */
  const messageOf = (objects: readonly ObservedNodeService[], others: readonly Claimant[], listed: string[] = []) => {
    const isOnNodes = (_kind: string, _key: string, origin: string) => listed.includes(origin);
    const claims = { claimantsOf: () => others, isOnNodes };
    return [...atOnce(refusalsOf(objects, { ...OPTIONS, claims }))].flatMap(([{ name }, refusal]) =>
      refusal ? [`${name}: ${refusal.message}`] : [],
    );
  };
  const taken = (name: string, owner: string) => [`${name}: The label ${LABEL} already belongs to ${owner}`];

  test('stays with a pool or a rule that has it on Nodes, whoever is older', () => {
    for (const each of [POOL, RULE]) {
      expect(messageOf([tier('a', '2020-01-01T00:00:00Z')], [{ ...each, isOnNodes: true }])).toEqual(
        taken('a', `${each.name}, which has it on Nodes`),
      );
    }
  });

  test('belongs to the oldest where it is on no Node, and to any object before a rule', () => {
    expect(messageOf([tier('a', younger)], [POOL])).toEqual(taken('a', `${POOL.name}, which is older`));
    expect(messageOf([tier('a', '2020-01-01T00:00:00Z')], [POOL])).toEqual([]);
    expect(messageOf([tier('a', younger)], [RULE])).toEqual([]);
  });

  test('stays with a NodeService that has it on Nodes, also where one that was created before is edited to want it', () => {
    const both = [tier('old', older), tier('young', younger)];
    expect(messageOf(both, [], ['service:young'])).toEqual(
      taken('old', 'the NodeService young, which has it on Nodes'),
    );
    expect(messageOf(both, [], ['service:young', 'service:old'])).toEqual(
      taken('young', 'the NodeService old, which is older'),
    );
    expect(messageOf(both, [])).toEqual(taken('young', 'the NodeService old, which is older'));
    expect(messageOf([tier('a', younger)], [{ ...POOL, isOnNodes: true }], ['service:a'])).toEqual(
      taken('a', `${POOL.name}, which is older`),
    );
  });
});

describe('a key of a built-in service', () => {
  const [LABEL = '', TAINT_KEY = ''] = [GITPOD.publish.label, GITPOD.publish.taint?.key];
  const keys = { label: { kind: 'label', key: LABEL }, taint: { kind: 'taint', key: TAINT_KEY } } as const;
  const wanting = {
    label: object('mine', { publish: { label: LABEL } }),
    taint: object('mine', { publish: { taint: { key: TAINT_KEY, effect: 'NoSchedule' } } }),
  };
  const judged = (of: 'label' | 'taint', listed: string[], others: readonly Claimant[] = []) => {
    const isOnNodes = (kind: string, key: string, origin: string) =>
      kind === of && key === keys[of].key && listed.includes(origin);
    const claims = { claimantsOf: ({ kind }: { kind: string }) => (kind === of ? others : []), isOnNodes };
    const { refusals, builtIn } = atOnce(acceptanceOf([wanting[of]], { ...OPTIONS, claims }));
    const { label, taint } = builtIn.services[0]?.publish ?? {};
    const problem = builtIn.refusals.get(GITPOD.name)?.message;
    return { refusal: refusals.get(wanting[of])?.message, kept: { label, taint: taint?.key }, problem };
  };

  test.each(['label', 'taint'] as const)(
    'is its own, also where a NodeService wants it that has it nowhere (%s)',
    (of) => {
      for (const listed of [[], ['gitpod'], ['gitpod', 'service:mine']]) {
        expect(judged(of, listed)).toEqual({
          refusal: `The ${of} ${keys[of].key} belongs to the service ${GITPOD.name} of Gitpod: choose another`,
          kept: { label: LABEL, taint: TAINT_KEY },
          problem: undefined,
        });
      }
    },
  );

  test.each(['label', 'taint'] as const)(
    'stays with a NodeService that has it on Nodes before flags ask for it (%s)',
    (of) => {
      expect(judged(of, ['service:mine'])).toEqual({
        refusal: undefined,
        kept: { label: LABEL, taint: TAINT_KEY, [of]: undefined },
        problem: `The ${of} ${keys[of].key} already belongs to the NodeService mine, which has it on Nodes`,
      });
    },
  );

  test('is said to be its own before anything is said of prefixes', () => {
    expect(refused([wanting.label], { allowedPrefixes: ['example.com/'] })).toEqual({ mine: 'KeyRefused' });
  });

  test('stays with a pool or a rule that has it on Nodes', () => {
    const pool = { name: 'NodePoolLabels rollcall/gold', createdAtMs: 0, isOnNodes: true };
    const problem = `The label ${LABEL} already belongs to ${pool.name}, which has it on Nodes`;
    expect(judged('label', [], [pool])).toMatchObject({ kept: { taint: TAINT_KEY }, problem });
    expect(judged('label', ['gitpod'], [pool])).toMatchObject({ kept: { label: LABEL }, problem: undefined });
    expect(judged('label', [], [{ ...pool, isOnNodes: false }])).toMatchObject({ kept: { label: LABEL } });
  });
});
