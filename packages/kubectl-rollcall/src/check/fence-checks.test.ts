import { describe, expect, test } from 'vitest';
import { CONFIG, FENCE, gone, resultOf } from './evidence.test-fixtures.ts';
import { fenceAgrees } from './fence-checks.ts';

const WELL = 'the fence allows what the coordinator is configured for, and no more';
const KNOWN =
  'startup-taint.cluster-autoscaler.kubernetes.io/, status-taint.cluster-autoscaler.kubernetes.io/ and readiness.k8s.io/';
const SERVICES = `service.rollcall.dev/, ${KNOWN}`;
const STOLEN = 'a stolen token can change more than it does';

/** Of the chart's defaults, with other settings and other variables of the fence. */
function of(settings: Record<string, unknown>, changed: Record<string, string> = {}) {
  const variables = FENCE.spec?.variables?.map(({ name, expression }) => {
    return { name, expression: changed[name] ?? expression };
  });
  const policies = { value: [{ ...FENCE, spec: { ...FENCE.spec, variables: variables ?? [] } }] };
  return resultOf(fenceAgrees, { config: { value: { ...CONFIG, ...settings } }, policies });
}

/** A finding, with its cure. */
function finding(text: string, variable: string) {
  const cure = `render both from the same values: helm upgrade; or edit ${variable} in the ValidatingAdmissionPolicy rollcall-fence`;
  return [text, cure];
}

test('the chart makes a fence that agrees with the coordinator', async () => {
  expect(await of({})).toBe(WELL);
});

test('a fence contradicts nothing where there is none', async () => {
  const none = 'there is no fence that could contradict the configuration';
  expect(await resultOf(fenceAgrees, { policies: gone })).toBe(none);
  expect(await resultOf(fenceAgrees, { policies: { value: [{ metadata: { name: 'others' } }] } })).toBe(none);
});

test('a fence without variables allows nothing', async () => {
  const policies = { value: [{ metadata: { name: 'rollcall-fence' } }] };
  const config = { value: { ...CONFIG, allowCondition: ['StorageReady'], poolLabels: ['a'] } };
  const found = [await resultOf(fenceAgrees, { policies, config })].flat();
  const sides = found.flatMap((text) => /^fail: .* but the fence (.*): the API server refuses /.exec(text)?.[1] ?? []);
  expect(sides).toEqual([
    'allows none (servicePrefixes)',
    'allows none (poolPrefixes)',
    'allows none (ownPrefixes)',
    'does not (mayChangeConditions)',
    'allows conditions that begin with nothing (servicePrefixes)',
    'knows nodes of pools by nothing (poolLabels)',
    'allows none (ownLabels)',
  ]);
});

describe('prefixes', () => {
  test.each([
    [undefined, "['']"],
    [[], "['']"],
    [['a/', 'b/'], "['b/', 'a/']"],
    ['a/, b/', "['a/', 'b/']"],
    [['a/b', 'a/'], "['a/']"],
  ])('%j match the expression %s of the fence', async (prefixes, expression) => {
    expect(await of({ servicesAllowedPrefixes: prefixes }, { servicePrefixes: expression })).toBe(WELL);
    expect(await of({ poolsAllowedPrefixes: prefixes }, { poolPrefixes: expression })).toBe(WELL);
  });

  test.each([undefined, []])('of NodeServices that are %j are more than the fence allows', async (prefixes) => {
    expect(await of({ servicesAllowedPrefixes: prefixes })).toEqual(
      finding(
        `fail: The coordinator allows NodeServices all keys (servicesAllowedPrefixes), but the fence allows keys that begin with ${SERVICES} (servicePrefixes): the API server refuses all others`,
        'servicePrefixes',
      ),
    );
  });

  test('that the fence does not have are refused, and those that it alone has are open', async () => {
    expect(await of({ poolsAllowedPrefixes: ['a/', 'b/'] }, { poolPrefixes: "['b/', 'c/']" })).toEqual(
      finding(
        'fail: The coordinator allows pools keys that begin with a/ and b/ (poolsAllowedPrefixes), but the fence allows keys that begin with b/ and c/ (poolPrefixes): the API server refuses keys that begin with a/',
        'poolPrefixes',
      ),
    );
    expect(await of({ poolsAllowedPrefixes: ['a/'] })).toEqual(
      finding(
        `warn: The fence allows all keys (poolPrefixes), but the coordinator allows pools keys that begin with a/ (poolsAllowedPrefixes): ${STOLEN}`,
        'poolPrefixes',
      ),
    );
  });

  test('of rules are in the list of what the coordinator itself sets', async () => {
    expect(await of({ rulesAllowedPrefixes: ['accelerators/', 'a/'] })).toEqual(
      finding(
        'fail: The coordinator allows rules keys that begin with accelerators/ and a/ (rulesAllowedPrefixes), but the fence allows keys that begin with accelerators/ (ownPrefixes): the API server refuses keys that begin with a/',
        'ownPrefixes',
      ),
    );
    expect(await of({ rulesAllowedPrefixes: [] })).toHaveLength(2);
  });

  test('of rules do not matter where there are no rules', async () => {
    expect(await of({ labelDir: undefined, rulesAllowedPrefixes: undefined })).toBe(WELL);
  });
});

describe('taints with the effect NoExecute', () => {
  test('are allowed by both', async () => {
    expect(await of({ allowNoExecute: true }, { mayEvict: 'true' })).toBe(WELL);
  });

  test('are refused where only the coordinator allows them', async () => {
    expect(await of({ allowNoExecute: true })).toEqual(
      finding(
        'fail: The coordinator allows taints with the effect NoExecute (allowNoExecute), but the fence does not (mayEvict): the API server refuses them',
        'mayEvict',
      ),
    );
  });

  test('are open where only the fence allows them', async () => {
    expect(await of({}, { mayEvict: 'true' })).toEqual(
      finding(
        `warn: The fence allows taints with the effect NoExecute (mayEvict), but the coordinator does not (allowNoExecute): ${STOLEN}`,
        'mayEvict',
      ),
    );
  });
});

describe('conditions', () => {
  test('are allowed by both or by neither', async () => {
    expect(await of({ servicesConditions: false }, { mayChangeConditions: 'false' })).toBe(WELL);
    expect(await of({}, { mayChangeConditions: 'false' })).toEqual(
      finding(
        'fail: The coordinator allows conditions (servicesConditions), but the fence does not (mayChangeConditions): the API server refuses them',
        'mayChangeConditions',
      ),
    );
    expect((await of({ servicesConditions: false }))[0]).toMatch(/^warn: The fence allows conditions \(mayChangeCond/);
  });

  test('that Karpenter repairs by need a prefix of the fence besides', async () => {
    const settings = { allowCondition: ['StorageReady', 'KernelReady'] };
    expect(await of(settings)).toEqual([
      'fail: The coordinator allows the conditions StorageReady and KernelReady (allowCondition), but the fence allows conditions that begin with service.rollcall.dev/ (servicePrefixes): the API server refuses them',
      'add StorageReady and KernelReady to services.allowedPrefixes and run helm upgrade',
    ]);
    const prefixes = ['service.rollcall.dev/', 'StorageReady', 'Kernel'];
    const servicePrefixes = `['${prefixes.join("', '")}']`;
    expect(await of({ ...settings, servicesAllowedPrefixes: prefixes }, { servicePrefixes })).toBe(WELL);
    const without = await of({ ...settings, servicesConditions: false }, { mayChangeConditions: 'false' });
    expect(without).toBe(WELL);
  });
});

describe('labels that name a pool', () => {
  test('are the same for both, in any order', async () => {
    expect(await of({ poolLabels: ['b', 'a'] }, { poolLabels: "['a', 'b']" })).toBe(WELL);
  });

  test('of one side are named', async () => {
    expect(await of({ poolLabels: ['a', 'b'] }, { poolLabels: "['b', 'c']" })).toEqual(
      finding(
        'fail: The coordinator knows nodes of pools by a and b (poolLabels), but the fence knows nodes of pools by b and c (poolLabels): the API server refuses labels of pools on other nodes',
        'poolLabels',
      ),
    );
    expect(await of({ poolLabels: ['a'] }, { poolLabels: "['a', 'c']" })).toEqual(
      finding(
        `warn: The fence knows nodes of pools by a and c (poolLabels), but the coordinator knows nodes of pools by a (poolLabels): ${STOLEN}`,
        'poolLabels',
      ),
    );
  });
});

describe('labels that are removed although no pool may set them', () => {
  test('are the same for both, or named', async () => {
    expect(await of({ poolsRemovedLabels: ['a', 'b'] }, { removedLabels: "['b', 'a']" })).toBe(WELL);
    const [narrow] = await of({ poolsRemovedLabels: ['a'] });
    expect(narrow).toContain('fail: The coordinator removes a (poolsRemovedLabels), but the fence allows it for none');
    const [wide] = await of({}, { removedLabels: "['a']" });
    expect(wide).toContain(
      'warn: The fence lets it remove a (removedLabels), but the coordinator removes no such labels',
    );
  });
});

describe('domains', () => {
  test.each([
    [['Example.com'], "['k8s.io', 'kubernetes.io', 'example.com']"],
    [['a.example.com', 'example.com'], "['k8s.io', 'kubernetes.io', 'example.com']"],
    [['k8s.io'], "['k8s.io', 'kubernetes.io']"],
  ])('%j are reserved by %s', async (forbiddenLabelDomains, reservedDomains) => {
    expect(await of({ forbiddenLabelDomains }, { reservedDomains })).toBe(WELL);
  });

  test('that only the coordinator forbids are open', async () => {
    expect(await of({ forbiddenLabelDomains: ['example.com'] })).toEqual(
      finding(
        `warn: The fence allows labels of pools in example.com (reservedDomains), but the coordinator does not (forbiddenLabelDomains): ${STOLEN}`,
        'reservedDomains',
      ),
    );
    expect((await of({}, { reservedDomains: "['k8s.io']" }))[0]).toContain('in kubernetes.io (reserved');
  });

  test('that only the fence reserves are refused', async () => {
    const reservedDomains = "['k8s.io', 'kubernetes.io', 'example.com', 'notk8s.io']";
    expect(await of({ forbiddenLabelDomains: ['a.example.com'] }, { reservedDomains })).toEqual(
      finding(
        'fail: The coordinator allows labels of pools in example.com and notk8s.io (forbiddenLabelDomains), but the fence does not (reservedDomains): the API server refuses them',
        'reservedDomains',
      ),
    );
  });
});

test('the readiness labels of Gitpod belong to the configured namespace', async () => {
  expect(await of({ namespace: undefined })).toBe(WELL);
  expect(await of({ namespace: 'gitpod' })).toEqual(
    finding(
      'fail: The coordinator sets the readiness labels of the namespace gitpod (namespace), but the fence allows gitpod.io/ws-daemon_ready_ns_default and gitpod.io/registry-facade_ready_ns_default (ownLabels): the API server refuses them',
      'ownLabels',
    ),
  );
  expect(await of({ namespace: 'gitpod', gitpod: false })).toBe(WELL);
});
