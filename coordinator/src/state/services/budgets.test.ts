import { atOnce } from '@rollcall/common/slices.ts';
import { SERVICE_LIST_BYTES_MAX } from '@rollcall/common/well-known.ts';
import { describe, expect, test } from 'vitest';
import type { NodeService } from '../../kube/objects.ts';
import { registryOf } from '../../model/keys/key-registry.test-fixtures.ts';
import { serviceOf } from '../../model/services.test-fixtures.ts';
import type { Service } from '../../model/services.ts';
import { wireProbe } from '../../model/wire-probe.ts';
import { formatKeys, listedKey, type Origin } from '../node-keys.ts';
import { formatStartedServices } from '../started-services.ts';
import { type AcceptanceOptions, acceptanceOf, NO_CLAIMS } from './acceptance.ts';
import { CHECKS_MAX, NodeBudgets, SERVICE_KEYS_BYTES_MAX, SERVICES_MAX } from './budgets.ts';
import { type ObservedNodeService, observeNodeService } from './node-service.ts';

const OPTIONS: AcceptanceOptions = {
  builtIn: [],
  keys: registryOf(),
  allowedPrefixes: [],
  allowNoExecute: false,
  conditions: true,
  allowedConditions: [],
  agents: true,
  agentProbesPerSecond: 50,
  impliedBy: () => new Set(),
  claims: NO_CLAIMS,
};

const uidOf = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;

/** `index` is its age: the larger, the younger. */
function object(index: number, spec: NonNullable<NodeService['spec']>): ObservedNodeService {
  const creationTimestamp = new Date(1_800_000_000_000 + index * 1000).toISOString();
  const name = `s${index}`;
  const metadata = { name, uid: uidOf(index), resourceVersion: '1', generation: 1, creationTimestamp };
  return observeNodeService({ metadata, spec });
}

const SEEN = { csiNode: { driver: 'example.com' } };
const TCP = { tcp: { port: 1 } };
const checks = (count: number, kind: object) =>
  Array.from({ length: count }, (_, index) => ({ name: `c${index}`, ...kind }));
const anyOf = (count: number) =>
  Array.from({ length: count / 8 }, (_, index) => ({ name: `a${index}`, anyOf: checks(8, SEEN) }));

/** A label, taint and condition of the most characters: a node lists some 1.5 KiB of it. */
function publishing(index: number): object {
  const long = `${'d'.repeat(63)}.${'d'.repeat(63)}.${'d'.repeat(63)}.${'d'.repeat(57)}/${'k'.repeat(59)}${String(index).padStart(4, '0')}`;
  return { label: long, taint: { key: long, value: 'v'.repeat(63), effect: 'NoSchedule' }, condition: long };
}

/** What each service of a row needs, and how many of them fit. */
const ROWS: [reason: string, fit: number, spec: (index: number) => NonNullable<NodeService['spec']>, says: string][] = [
  [
    'TooManyServices',
    SERVICES_MAX,
    () => ({ checks: checks(1, SEEN) }),
    'A node could have too many services (it adds 1, and older services leave 0 of 200): let it select other nodes than older services by another value of a label that they ask for, or delete a service',
  ],
  [
    'TooManyChecks',
    Math.floor(CHECKS_MAX / 128),
    () => ({ checks: anyOf(128) }),
    'The services of a node could have too many checks (it adds 128, and older services leave 104 of 1000): remove checks,',
  ],
  [
    'TooManyProbes',
    5,
    () => ({ checks: checks(1, { ...TCP, period: '100ms' }) }),
    'An agent could make too many probes a second (it adds 10, and older services leave 0 of 50): lengthen the period of its checks,',
  ],
  [
    'TooManyProbes',
    25,
    () => ({ checks: checks(2, TCP) }),
    'or raise --agent-probes-per-second (coordinator.config.agentProbesPerSecond in the chart)',
  ],
  [
    'TooManyProbes',
    150,
    () => ({ checks: checks(1, { ...TCP, period: '3s' }) }),
    'it adds 0.3, and older services leave 0 of 50',
  ],
  [
    'KeysTooLarge',
    38,
    (index) => ({ checks: checks(1, SEEN), publish: publishing(index) }),
    'The keys of services would take too much of the annotations of a node (it adds ',
  ],
  [
    'ListTooLarge',
    4,
    (index) => ({
      checks: ['a', 'b'].map((name) => ({
        name,
        https: { port: 1, caBundle: `${index}${name}`.padEnd(30_000, '.') },
      })),
    }),
    'The list of services for the agents would be too large (its probes have 62 KiB',
  ],
];

function refused(objects: readonly ObservedNodeService[], change: Partial<AcceptanceOptions> = {}) {
  const refusals = atOnce(acceptanceOf(objects, { ...OPTIONS, ...change })).refusals;
  return [...refusals].flatMap(([{ name }, refusal]) => (refusal ? [{ name, ...refusal }] : []));
}

describe.each(ROWS)('the budget %s of %i services', (reason, fit, spec, says) => {
  const all = Array.from({ length: fit + 1 }, (_, index) => object(index, spec(index)));
  const selecting = (index: number, value: string) =>
    object(index, { ...spec(index), nodeSelector: { matchLabels: { pool: value } } });

  test('refuses the youngest, whose status names the budget, its value and the cure, and frees when an older one goes', () => {
    const [only, ...others] = refused(all.toReversed());
    expect(others).toEqual([]);
    expect(only).toMatchObject({ name: `s${fit}`, reason, message: expect.stringContaining(says) });
    expect(refused(all.slice(1))).toEqual([]);
  });

  test('is each node’s own: services whose selectors ask for other values of a label do not share it', () => {
    const apart = all.map((_, index) => selecting(index, index < fit / 2 ? 'a' : 'b'));
    const isOfList = reason === 'ListTooLarge';
    // Bundles travel once, so they count wherever they are.
    expect(refused(apart)).toHaveLength(isOfList ? 1 : 0);
    expect(refused(all.map((_, index) => selecting(index, 'a')))).toMatchObject([{ name: `s${fit}`, reason }]);
  });

  test('counts a service that could be on a node with all others, though no node is so', () => {
    const [first, ...rest] = all.map((_, index) => selecting(index, index % 2 === 0 ? 'a' : 'b'));
    const everywhere = all.map((_, index) => object(1000 + index, spec(1000 + index)));
    const names = refused([first as ObservedNodeService, ...rest, ...everywhere]).map(({ name }) => name);
    expect(names.at(-1)).toBe(`s${1000 + fit}`);
    expect(names).not.toContain('s0');
  });
});

test('a CA bundle takes its text and its key in the list for agents', () => {
  const budgets = new NodeBudgets(50);
  const withBundle = (index: number, length: number) =>
    object(index, {
      checks: checks(1, { https: { port: 1, caBundle: String(index).padEnd(length, '.') }, period: '1h' }),
    }).service;
  /** In the list, with room for its addresses: the probe, and the entry of the bundle. */
  const sizeOf = ({ checks: [check] }: Service) => {
    if (check?.kind !== 'probe') throw new Error('no probe');
    const { how, caBundle } = wireProbe(check.settings);
    const entry = JSON.stringify({ [caBundle?.key ?? '']: caBundle?.text });
    return check.id.length + JSON.stringify(how).length + 1024 + entry.length + 1;
  };
  const small = Array.from({ length: 170 }, (_, index) => withBundle(index, 100));
  for (const service of small) budgets.take(service);
  const left = SERVICE_LIST_BYTES_MAX - small.reduce((sum, service) => sum + sizeOf(service), 0);
  const lengths = Array.from({ length: 600 }, (_, index) => 100 + 50 * index);
  const fits = lengths.filter((length) => sizeOf(withBundle(170, length)) <= left);
  expect(lengths.filter((length) => !budgets.refusal(withBundle(170, length)))).toEqual(fits);
  expect([fits.length > 0, fits.length < lengths.length]).toEqual([true, true]);
});

test('services of Gitpod count, and are never refused for it', () => {
  const probed = Array.from({ length: 50 }, (_, index) => object(index, { checks: checks(1, TCP) }));
  const names = refused(probed, { builtIn: [serviceOf()] }).map(({ name }) => name);
  expect(names).toEqual(['s49']);
});

test('of several labels the one counts that excludes most, and a label that a selector names twice counts once', () => {
  const selecting = (index: number, nodeSelector: object) =>
    object(index, { checks: checks(1, { ...TCP, period: '100ms' }), nodeSelector });
  const older = Array.from({ length: 5 }, (_, index) =>
    selecting(index, {
      matchLabels: { pool: 'a', zone: 'z' },
      matchExpressions: [{ key: 'pool', operator: 'Exists' }],
    }),
  );
  const twice = { matchLabels: { pool: 'a' }, matchExpressions: [{ key: 'pool', operator: 'In', values: ['a', 'b'] }] };
  const names = (nodeSelector: object) => refused([...older, selecting(9, nodeSelector)]).map(({ name }) => name);
  expect(names({ matchLabels: { pool: 'b', zone: 'z' } })).toEqual([]);
  expect(names({ matchExpressions: [{ key: 'pool', operator: 'NotIn', values: ['a'] }] })).toEqual(['s9']);
  expect(names({ matchExpressions: [{ key: 'pool', operator: 'In', values: ['b', 'a'] }] })).toEqual(['s9']);
  expect(names(twice)).toEqual(['s9']);
});

test('no node can have more than the budgets, whatever its labels', () => {
  const pools = ['a', 'b', 'c'];
  let state = 7;
  const random = (below: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  const objects = Array.from({ length: 300 }, (_, index) => {
    const values = pools.filter(() => random(2) === 0);
    const selectors = [
      undefined,
      { matchLabels: { pool: pools[random(3)] ?? 'a' } },
      { matchExpressions: [{ key: 'pool', operator: 'In' as const, values: values.length > 0 ? values : ['a'] }] },
      { matchLabels: { pool: pools[random(3)] ?? 'a', zone: pools[random(3)] ?? 'a' } },
    ];
    const nodeSelector = selectors[random(4)];
    const spec = { checks: checks(1, { ...TCP, period: `${100 + random(900)}ms` }), publish: publishing(index) };
    return object(index, nodeSelector ? { ...spec, nodeSelector } : spec);
  });
  const refusals = atOnce(acceptanceOf(objects, OPTIONS)).refusals;
  const accepted = objects.filter((each) => !refusals.get(each)).map(({ service }) => service);
  for (const pool of pools) {
    for (const zone of pools) {
      const own = accepted.filter((service) => isFor(service, { pool, zone }));
      expect(own.reduce((sum, { checks: [check] }) => sum + rateOf(check), 0)).toBeLessThanOrEqual(50);
      expect(noted(own)).toBeLessThanOrEqual(SERVICE_KEYS_BYTES_MAX + 100);
    }
  }
  expect(accepted.length).toBeGreaterThan(25);
});

function isFor({ nodeSelector = {} }: Service, labels: Record<string, string>): boolean {
  const { matchLabels = {}, matchExpressions = [] } = nodeSelector;
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, values = [] }) => values.includes(labels[key] ?? ''))
  );
}

function rateOf(check: Service['checks'][number] | undefined): number {
  return check?.kind === 'probe' ? 1000 / (check.settings.periodMilliseconds ?? 1000) : 0;
}

/** The bytes of both annotations with all that these services can have there. */
function noted(services: readonly Service[]): number {
  const keys = new Map<string, Origin>();
  const started = new Map<string, string>();
  for (const { name, publish, origin } of services) {
    const uid = origin.kind === 'object' ? origin.uid : '';
    for (const kind of ['label', 'condition'] as const)
      keys.set(listedKey(kind, publish[kind] ?? ''), `service:${uid}`);
    keys.set(listedKey('taint', publish.taint?.key ?? ''), `service:${uid}`);
    started.set(name, uid);
  }
  return (formatKeys(keys)?.length ?? 0) + (formatStartedServices(uidOf(0), started)?.length ?? 0);
}
