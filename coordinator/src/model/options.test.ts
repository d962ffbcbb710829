import { expect, test } from 'vitest';
import { configured, problemWith } from './load.test-fixtures.ts';

test('by default nothing is evicted, one replica of several leads, and what is written is written', async () => {
  expect(await configured()).toMatchObject({
    allowNoExecute: false,
    evict: false,
    evictReadiness: false,
    dryRun: false,
    prune: false,
    gitpod: true,
    requirePod: true,
    leaderElect: true,
    localTokenVerification: true,
    servicesConditions: true,
    tls: 'on',
    jsonLog: true,
    verbose: false,
  });
});

test('by default times and limits are as the documents say', async () => {
  expect(await configured()).toMatchObject({
    staleAfterSeconds: 30,
    fleetGuardPercent: 55,
    startupGateMaxWaitSeconds: 600,
    massWithdrawalDelaySeconds: 60,
    evictionDelaySeconds: 30,
    evictionsPerMinute: 60,
    maxWorkspacesPerNode: 110,
    maxStartingPerNode: 10,
  });
});

test.each([
  ['startup-gate-max-wait-seconds', 1, 86_400],
  ['mass-withdrawal-delay-seconds', 0, 86_400],
  ['eviction-delay-seconds', 0, 3600],
  ['evictions-per-minute', 1, 6000],
  ['max-workspaces-per-node', 1, 10_000],
  ['max-starting-per-node', 1, 10_000],
  ['stale-after-seconds', 1, 3600],
  ['fleet-guard-percent', 1, 100],
])('--%s is from %i to %i', async (name, min, max) => {
  const problems = await Promise.all([min - 1, min, max, max + 1].map((value) => problemWith(`--${name}=${value}`)));
  const outside = expect.stringContaining(`from ${min} to ${max}`);
  expect(problems).toEqual([outside, undefined, undefined, outside]);
});

test.each(['eviction-delay-seconds', 'stale-after-seconds', 'fleet-guard-percent'])(
  '--%s may be a fraction',
  async (name) => {
    expect(await problemWith(`--${name}=1.5`)).toBeUndefined();
  },
);

test.each(['--master=https://api:6443', '--master=http://127.0.0.1:8080', '--advertise-url=https://a:1'])(
  '%s is taken',
  async (flag) => {
    expect(await problemWith(flag)).toBeUndefined();
  },
);

test.each([
  ['--master=api:6443', 'must be an http:// or https:// URL'],
  ['--master=no url', 'must be an http:// or https:// URL'],
  ['--master=https://me@api', 'must not contain a user name or password'],
  ['--master=https://me:hush@api', 'must not contain a user name or password'],
  ['--master=https://:hush@api', 'must not contain a user name or password'],
  ['--pool-labels=', 'must be one or more label keys'],
  ['--label-dir=', 'must be the path of a directory'],
  ['--namespace=A_b', 'must be'],
  ['--allow-condition=Ready', 'must be some of '],
  ['--agent-service-account=rollcall-agent', 'must be system:serviceaccount:NAMESPACE:NAME'],
])('%s is refused', async (flag, problem) => {
  expect(await problemWith(flag)).toContain(`${flag.split('=', 1)[0]}: ${problem}`);
});

test.each([
  '--allow-condition=StorageReady',
  '--agent-service-account=system:serviceaccount:a:b',
  '--pool-labels=a',
  '--pool-labels=a,example.com/b',
  '--label-dir=/etc/labels',
])('%s is as it should be', async (flag) => {
  expect(await problemWith(flag)).toBeUndefined();
});

test('a condition for which nodes are not replaced is named when it is refused', async () => {
  expect(await problemWith('--allow-condition=StorageReady,Ready')).toMatch(/; got Ready$/);
});

test('the namespace leaves room for the rest of a label key', async () => {
  expect(await problemWith(`--namespace=${'a'.repeat(38)}`)).toBeUndefined();
  expect(await problemWith(`--namespace=${'a'.repeat(39)}`)).toContain('must have at most 38 characters');
});
