import { describe, expect, test } from 'vitest';
import {
  checkDocument,
  keyDocument,
  nodeDocument,
  nodeServiceDocument,
  replicaDocument,
} from './console.test-fixtures.ts';
import type { KeyDocument, NodeDocument, NodeServiceDocument } from './console.ts';

const POD = { pod: 'default/ws-daemon-abc', ready: true, terminating: false };
const NEXT_HOLD = 'It stays as it is, since the state is unknown.';

// The documents of the fixtures have their causes.
const nodeCause = ({ cause }: NodeDocument) => cause;
const keyCause = ({ keys }: NodeDocument, { key }: KeyDocument) => keys.find((each) => each.key === key)?.cause;

/** Of a node with one service that is not ready. */
function serviceCause(service: Partial<NodeServiceDocument>, node: Partial<NodeDocument> = {}) {
  const services = [nodeServiceDocument({ state: 'not-ready', reason: 'why', ...service })];
  return nodeCause(nodeDocument({ services, keys: [], ...node }));
}

/** Of a key of no service. */
function causeOf(key: Partial<KeyDocument>, node: Partial<NodeDocument> = {}) {
  const document = keyDocument({ key: 'k', service: undefined, value: 'v', onNode: 'v', reason: 'why', ...key });
  return keyCause(nodeDocument({ services: [], keys: [document], ...node }), document);
}

describe('the cause of a node', () => {
  test('is that nothing is missing, with how many services are ready and when the agent was heard', () => {
    const services = [nodeServiceDocument(), nodeServiceDocument({ name: 'other', state: undefined })];
    expect(nodeCause(nodeDocument({ services }))).toEqual({
      isWell: true,
      headline: 'node/node-7 is as rollcall wants it: 1 of 2 services are ready, and its agent reported 2.5 s ago',
      next: 'Nothing needs to change.',
    });
    expect(nodeCause(nodeDocument({ agent: { state: 'unheard' } })).headline).toMatch(/services are ready$/);
  });

  test('is unknown to a standby', () => {
    const cause = { isWell: false, headline: 'The state is unknown: the replica that answered does not lead' };
    const of = (leader?: string) =>
      nodeCause(nodeDocument({ replica: replicaDocument({ leading: false, ...(leader ? { leader } : {}) }) }));
    expect(of('other')).toEqual({ ...cause, next: 'Ask the leader, other.' });
    expect(of()).toEqual({ ...cause, next: 'No leader is known.' });
  });

  test('is a service of it that is not well, whatever else there is of services', () => {
    const services = [nodeServiceDocument(), nodeServiceDocument({ name: 'b', state: 'not-ready', reason: 'why' })];
    expect(nodeCause(nodeDocument({ services, keys: [] })).headline).toBe('node/node-7: b is not ready: why');
  });

  test('is what obstructs a key of no service, before a service that is not ready', () => {
    const services = [nodeServiceDocument({ state: 'not-ready', reason: 'why' })];
    const contested = { rival: 'other', nextTrySeconds: 8 };
    const of = (service?: string) => nodeCause(nodeDocument({ services, keys: [keyDocument({ service, contested })] }));
    expect(of().headline).toContain('other keeps changing it');
    expect(of('ws-daemon').headline).toBe('node/node-7: ws-daemon is not ready: why');
  });

  test('is what obstructs a key of a service that is ready', () => {
    const keys = [keyDocument(), keyDocument({ contested: { rival: 'other', nextTrySeconds: 8 } })];
    expect(nodeCause(nodeDocument({ keys })).headline).toContain('other keeps changing it');
  });
});

describe('the cause of a service', () => {
  test('that is ready is no trouble', () => {
    expect(serviceCause({ state: 'ready' }).isWell).toBe(true);
  });

  test('that is unknown is said to be, and its keys stay', () => {
    const of = (agent: NodeDocument['agent']) => serviceCause({ state: 'unknown' }, { agent });
    expect(of({ state: 'fresh' })).toEqual({
      isWell: false,
      headline: 'node/node-7: the state of ws-daemon is unknown: why',
      next: 'Its keys stay as they are.',
    });
    expect(of({ state: 'unheard' }).next).toBe(
      'Its keys stay as they are until the agent reports or counts as silent.',
    );
    expect(of({ state: 'silent', guard: 'fleet' }).next).toBe(
      'Its keys stay as they are while the guard is active. Most agents are silent: check the network first.',
    );
  });

  test('that came and went too often is for how long it is held back', () => {
    expect(serviceCause({ heldBack: { until: '2026-03-01T12:00:40Z', falls: 5 } })).toEqual({
      isWell: false,
      headline: 'node/node-7: ws-daemon is held back for another 40 s: it became not ready 5 times in 5 minutes',
      next: 'If it stays ready, it counts as ready after that time. Find out why it fails again and again.',
    });
  });

  test.each(['silent', 'absent'] as const)('whose agent is %s is to find the agent, before anything else', (state) => {
    expect(serviceCause({ pods: [], reason: 'no pod' }, { agent: { state } }).next).toBe(
      'Its agent has to report again; find its pod: kubectl get pods -A -o wide --field-selector spec.nodeName=node-7',
    );
  });

  test.each<[string, Partial<NodeServiceDocument>, string]>([
    [
      'no pod',
      { pods: [], reason: 'no pod of it is here' },
      'A pod of the service has to run on the node: check its DaemonSet, its tolerations and its node selector.',
    ],
    ['no pod, which is not the reason', { pods: [] }, 'All its checks have to pass.'],
    [
      'only a pod that terminates',
      { pods: [{ ...POD, ready: false, terminating: true }] },
      'A new pod has to replace it and become Ready.',
    ],
    [
      'a pod that is not Ready, beside one that terminates',
      {
        pods: [
          { ...POD, pod: 'default/old', terminating: true },
          { ...POD, ready: false },
        ],
      },
      'The pod has to become Ready: kubectl -n default describe pod ws-daemon-abc',
    ],
    [
      'a Ready pod, and a check that fails',
      { checks: [checkDocument({ name: 'pod' }), checkDocument({ name: 'port', state: 'not-ready' })] },
      'The check port has to pass: look at the service on the node.',
    ],
    [
      'a check that the agent refuses to make',
      {
        checks: [
          checkDocument({ state: 'not-ready', reason: 'not probed: not at /run/a: --probe-paths names no directory' }),
        ],
      },
      'Agents do not ask this: change the check, or permit it, as agent.probePaths of the chart does for sockets and files.',
    ],
    [
      'several checks that fail',
      { checks: ['port', 'file'].map((name) => checkDocument({ name, state: 'not-ready' })) },
      'The checks port, file have to pass: look at the service on the node.',
    ],
    ['a Ready pod, and checks that pass', {}, 'All its checks have to pass.'],
    ['a Ready pod, and no checks', { checks: [] }, 'All its checks have to pass.'],
  ])('with %s says what has to happen', (_what, service, next) => {
    expect(serviceCause(service)).toEqual({
      isWell: false,
      headline: `node/node-7: ws-daemon is not ready: ${service.reason ?? 'why'}`,
      next,
    });
  });
});

describe('the cause of a key', () => {
  test.each<[string, Partial<KeyDocument>, string, boolean, string]>([
    ['is there as wanted', {}, 'has the label k', true, 'rollcall wants it, and it is present.'],
    [
      'is absent as wanted',
      { stance: 'absent', onNode: null },
      'does not have the label k',
      true,
      'rollcall does not want it, and it is absent.',
    ],
    ['is held while it is there', { stance: 'keep' }, 'has the label k', true, NEXT_HOLD],
    ['is held while it is absent', { stance: 'keep', onNode: null }, 'does not have the label k', true, NEXT_HOLD],
    [
      'is still to be set',
      { onNode: null, pending: true },
      'does not have the label k',
      false,
      'The write is pending.',
    ],
    ['is still to be removed', { stance: 'absent', pending: true }, 'has the label k', false, 'The write is pending.'],
    ['has another value', { onNode: 'w', pending: true }, 'has "w" as the label k', false, 'The write is pending.'],
    ['is not looked at', { onNode: undefined }, 'does not have the label k', false, 'No write is planned.'],
    [
      'waits, such as for a place in a budget',
      { onNode: null },
      'does not have the label k',
      false,
      'No write is planned.',
    ],
    [
      'is a taint, whose value does not matter',
      { kind: 'taint', onNode: 'x:NoSchedule' },
      'has the taint k',
      true,
      'rollcall wants it, and it is present.',
    ],
    [
      'is a taint that is absent',
      { kind: 'taint', onNode: null, pending: true },
      'does not have the taint k',
      false,
      'The write is pending.',
    ],
    [
      'is a taint that is not watched',
      { kind: 'taint', onNode: undefined },
      'does not have the taint k',
      false,
      'No write is planned.',
    ],
  ])('that %s', (_what, key, is, isWell, next) => {
    expect(causeOf(key)).toEqual({ isWell, headline: `node/node-7 ${is}: why`, next });
  });

  test('is unknown to a standby', () => {
    expect(causeOf({}, { replica: replicaDocument({ leading: false }) })?.headline).toContain('does not lead');
  });

  test('of the startup taint is what nodes still lack, as long as it is there', () => {
    const gate = { kind: 'taint', key: 'startup-taint.cluster-autoscaler.kubernetes.io/rollcall' } as const;
    expect(causeOf({ ...gate, stance: 'keep', onNode: ':NoSchedule' })).toEqual({
      isWell: false,
      headline: 'node/node-7 still has the startup taint: why',
      next: 'rollcall removes the taint when nothing is missing any more.',
    });
    expect(causeOf({ ...gate, stance: 'keep', onNode: null })?.isWell).toBe(true);
    expect(causeOf({ ...gate, stance: 'absent', onNode: ':NoSchedule', pending: true })?.next).toBe(
      'The write is pending.',
    );
    expect(causeOf({ kind: 'taint', stance: 'keep', onNode: ':NoSchedule' })?.isWell).toBe(true);
  });

  test('that is withheld since its service is not ready is the cause of the service', () => {
    const services = [nodeServiceDocument({ state: 'not-ready', reason: 'why', pods: [] })];
    const of = (change: Partial<KeyDocument>) => {
      const key = keyDocument({ key: 'k', onNode: null, reason: 'it is not', ...change });
      return keyCause(nodeDocument({ services, keys: [key] }), key);
    };
    const headline = 'node/node-7 does not have the label k';
    expect(of({ stance: 'absent' })).toEqual({
      isWell: false,
      headline: `${headline}: ws-daemon is not ready: why`,
      next: 'All its checks have to pass.',
    });
    expect(of({ stance: 'present' })?.headline).toBe(`${headline}: it is not`);
    expect(of({ stance: 'absent', service: 'other' })?.headline).toBe(`${headline}: it is not`);
  });

  test('that is withheld although its service is ready, or not for the node, is its own', () => {
    const of = (service: Partial<NodeServiceDocument>) => {
      const key = keyDocument({ stance: 'absent', onNode: null, reason: 'it is not' });
      return keyCause(nodeDocument({ services: [nodeServiceDocument(service)], keys: [key] }), key);
    };
    expect(of({})).toMatchObject({ isWell: true, headline: expect.stringMatching(/: it is not$/) });
    expect(of({ state: undefined })).toMatchObject({ isWell: true, headline: expect.stringMatching(/: it is not$/) });
  });
});

describe('an obstacle', () => {
  const dryRun = { replica: replicaDocument({ dryRun: true }) };

  test.each<[string, Partial<KeyDocument>, string, string]>([
    [
      'another writer',
      { contested: { rival: 'other', nextTrySeconds: 8 } },
      'has the label k: other keeps changing it',
      'rollcall writes it again in 8 s, then less and less often. Stop the other writer.',
    ],
    [
      'another owner of what is wanted',
      { skipped: { cause: 'foreign', message: 'owned by kubectl' } },
      'has the label k: it is owned by kubectl',
      'rollcall leaves it as it is until the other owner releases it.',
    ],
    [
      'another owner of what is not wanted',
      { stance: 'absent', skipped: { cause: 'foreign', message: 'owned by kubectl' } },
      'has the label k: why',
      'rollcall leaves it as it is until the other owner releases it.',
    ],
    [
      'a policy',
      { onNode: null, skipped: { cause: 'denied', message: 'no' } },
      'does not have the label k: the API server refuses it: no',
      'Change the policy or webhook so that the coordinator may write it.',
    ],
    [
      'a value that is not valid',
      { onNode: null, skipped: { cause: 'invalid', message: 'no' } },
      'does not have the label k: the API server refuses it: no',
      'Request a key and a value that the API server accepts.',
    ],
    [
      'a removal that is refused',
      { stance: 'absent', removalRefused: 'no' },
      'has the label k: the API server refuses its removal: no',
      'rollcall tries again every 30 s.',
    ],
  ])('is %s', (_what, key, is, next) => {
    expect(causeOf(key)).toEqual({ isWell: false, headline: `node/node-7 ${is}`, next });
  });

  test('is a dry run, for a key that it would change', () => {
    const next = 'rollcall writes nothing until you turn off --dry-run.';
    expect(causeOf({ onNode: null }, dryRun)).toEqual({
      isWell: false,
      headline: 'node/node-7 does not have the label k: rollcall would set it (why), but this is a dry run',
      next,
    });
    expect(causeOf({ stance: 'absent' }, dryRun)).toEqual({
      isWell: false,
      headline: 'node/node-7 has the label k: rollcall would remove it (why), but this is a dry run',
      next,
    });
  });

  test.each<[string, Partial<KeyDocument>]>([
    ['is there as wanted', {}],
    ['is absent as wanted', { stance: 'absent', onNode: null }],
    ['is held', { stance: 'keep', onNode: null }],
  ])('is no dry run for a key that %s', (_what, key) => {
    expect(causeOf(key, dryRun)?.isWell).toBe(true);
  });
});

describe('a key agrees with what is wanted', () => {
  const agreement = (key: Partial<KeyDocument>) =>
    nodeDocument({ services: [], keys: [keyDocument({ value: 'v', onNode: 'v', ...key })] }).keys[0]?.agrees;
  const contested = { rival: 'labeler', nextTrySeconds: 8 };
  const skipped = { cause: 'foreign', message: 'is not ours' } as const;

  test.each<[Partial<KeyDocument>, KeyDocument['agrees']]>([
    [{}, 'yes'],
    [{ kind: 'taint', value: 'x:NoSchedule', onNode: 'y:NoSchedule' }, 'yes'],
    [{ kind: 'taint', value: 'x:NoSchedule', onNode: 'y:NoSchedule', pending: true }, 'no'],
    [{ value: '', onNode: '' }, 'yes'],
    [{ onNode: null, pending: true }, 'no'],
    [{ onNode: 'w', pending: true }, 'no'],
    [{ onNode: null }, 'open'],
    [{ onNode: undefined }, 'open'],
    [{ stance: 'absent', onNode: null }, 'yes'],
    [{ stance: 'absent', pending: true }, 'no'],
    [{ stance: 'absent', removalRefused: 'no' }, 'no'],
    [{ stance: 'absent', onNode: undefined }, 'open'],
    [{ stance: 'keep' }, 'open'],
    [{ contested }, 'yes'],
    [{ onNode: 'w', contested }, 'no'],
    [{ onNode: 'w', skipped }, 'no'],
    [{ stance: 'absent', onNode: 'w', skipped }, 'no'],
    [{ onNode: undefined, skipped }, 'open'],
  ])('%j: %s', (key, agrees) => {
    expect(agreement(key)).toBe(agrees);
  });
});
