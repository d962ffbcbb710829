import {
  checkDocument,
  keyDocument,
  nodeDocument,
  nodeServiceDocument,
  READY_LABEL,
  replicaDocument,
} from '@rollcall/common/console.test-fixtures.ts';
import type { CheckDocument, NodeDocument, ScheduleDocument } from '@rollcall/common/console.ts';
import { describe, expect, test } from 'vitest';
import { failureText } from '../failure.ts';
import { TERMINALS } from '../testing/documents.test-fixtures.ts';
import { whyNodeText } from './node-text.ts';
import type { NodeObject } from './owners.ts';
import { whyPodText } from './pod-text.ts';
import { unknownKey } from './unknown-key.ts';

const REFUSED = 'tcp 10.0.0.7:8080 refused the connection twice (ECONNREFUSED)';
const withheld = (reason: string) => keyDocument({ stance: 'absent', onNode: null, reason });
const held = (reason: string) => keyDocument({ stance: 'keep', reason });
const checks = (...failing: Partial<CheckDocument>[]) => [
  checkDocument({ name: 'pod', reason: 'pod default/ws-daemon-abc is Ready', cause: 'evidence' }),
  ...failing.map((each) => checkDocument({ state: 'not-ready', ...each })),
];

/** Each with what has to be in its first two lines. */
const SITUATIONS: Readonly<Record<string, { page: NodeDocument; says: string[] }>> = {
  'killed-service': {
    page: nodeDocument({
      services: [
        nodeServiceDocument({
          state: 'not-ready',
          since: '2026-03-01T11:57:00Z',
          reason: REFUSED,
          checks: checks({ reason: REFUSED }),
        }),
      ],
      keys: [withheld(REFUSED)],
      changes: [{ at: '2026-03-01T11:57:00Z', kind: 'label', key: READY_LABEL, from: 'true', reason: REFUSED }],
    }),
    says: ['refused the connection twice', 'The check probe has to pass'],
  },
  'silent-agent': {
    page: nodeDocument({
      agent: { state: 'silent', version: '0.1.0', lastReportSecondsAgo: 95 },
      services: [
        nodeServiceDocument({
          state: 'not-ready',
          reason: 'the agent has been silent for too long',
          checks: checks({ reason: 'the agent has been silent for too long', cause: 'silence' }),
        }),
      ],
      keys: [withheld('the agent has been silent for too long')],
    }),
    says: ['silent for too long', 'has to report again'],
  },
  guard: {
    page: nodeDocument({
      replica: replicaDocument({ guards: [{ subject: 'agents', of: 'fleet', nodes: 3 }] }),
      agent: { state: 'silent', guard: 'fleet', lastReportSecondsAgo: 95 },
      services: [
        nodeServiceDocument({ state: 'unknown', reason: 'the agent is silent, and so are most others (guard: fleet)' }),
      ],
      keys: [held('the agent is silent, and so are most others (guard: fleet)')],
    }),
    says: ['guard: fleet', 'check the network first'],
  },
  'held-back': {
    page: nodeDocument({
      services: [
        nodeServiceDocument({
          state: 'not-ready',
          reason: 'held back until 2026-03-01T12:00:40Z',
          evidence: { state: 'ready', reason: 'pod default/ws-daemon-abc is Ready' },
          heldBack: { until: '2026-03-01T12:00:40Z', falls: 5 },
        }),
      ],
      keys: [withheld('held back until 2026-03-01T12:00:40Z')],
    }),
    says: ['held back for another 40 s', '5 times in 5 minutes'],
  },
  contested: {
    page: nodeDocument({
      keys: [keyDocument({ onNode: null, contested: { rival: 'node-labeler', nextTrySeconds: 8 } })],
    }),
    says: ['node-labeler keeps changing it', 'Stop the other writer'],
  },
  'foreign-owner': {
    page: nodeDocument({
      keys: [
        keyDocument({
          key: 'example.com/tier',
          service: undefined,
          value: 'gold',
          onNode: 'silver',
          labeler: 'pool-labels',
          skipped: { cause: 'foreign', message: 'owned by kubectl-label' },
        }),
      ],
    }),
    says: ['it is owned by kubectl-label', 'leaves it as it is'],
  },
  'was-there-before': {
    page: nodeDocument({
      keys: [
        keyDocument({
          key: 'example.com/tier',
          service: undefined,
          stance: 'absent',
          ownership: 'shared',
          value: 'gold',
          onNode: 'silver',
          labeler: 'pool-labels',
          reason: 'already has the value "silver", set by another client',
          skipped: { cause: 'foreign', message: 'already has the value "silver", set by another client' },
        }),
      ],
    }),
    says: ['already has the value "silver", set by another client', 'leaves it as it is'],
  },
  'refused-by-policy': {
    page: nodeDocument({
      keys: [keyDocument({ onNode: null, skipped: { cause: 'denied', message: "policy 'guard' says no" } })],
    }),
    says: ["policy 'guard' says no", 'Change the policy or webhook'],
  },
  'no-pod': {
    page: nodeDocument({
      services: [
        nodeServiceDocument({
          state: 'not-ready',
          reason: 'no pod of ws-daemon is on the node',
          checks: [
            checkDocument({
              name: 'pod',
              state: 'not-ready',
              reason: 'no pod of ws-daemon is on the node',
              cause: 'evidence',
            }),
            checkDocument(),
          ],
          pods: [],
        }),
      ],
      keys: [withheld('no pod of ws-daemon is on the node')],
    }),
    says: ['no pod of ws-daemon', 'check its DaemonSet'],
  },
  'no-csi-driver': {
    page: nodeDocument({
      services: [
        nodeServiceDocument({
          name: 'ebs',
          state: 'not-ready',
          reason: 'the CSINode does not list ebs.csi.aws.com',
          checks: [
            checkDocument({
              name: 'registered',
              state: 'not-ready',
              reason: 'the CSINode does not list ebs.csi.aws.com',
              cause: 'evidence',
            }),
          ],
          pods: [],
        }),
      ],
      keys: [
        keyDocument({
          key: 'service.rollcall.dev/ebs',
          service: 'ebs',
          stance: 'absent',
          onNode: null,
          reason: 'the CSINode does not list ebs.csi.aws.com',
        }),
      ],
    }),
    says: ['the CSINode does not list ebs.csi.aws.com', 'The check registered has to pass'],
  },
  'terminating-pod': {
    page: nodeDocument({
      services: [
        nodeServiceDocument({
          state: 'not-ready',
          reason: 'pod default/ws-daemon-abc is terminating',
          pods: [{ pod: 'default/ws-daemon-abc', ready: true, terminating: true }],
        }),
      ],
      keys: [withheld('pod default/ws-daemon-abc is terminating')],
    }),
    says: ['is terminating', 'A new pod has to replace it'],
  },
  startup: {
    page: nodeDocument({
      keys: [
        keyDocument(),
        keyDocument({
          kind: 'taint',
          key: 'startup-taint.cluster-autoscaler.kubernetes.io/rollcall',
          service: undefined,
          onNode: ':NoSchedule',
          value: '',
          labeler: 'startup-gate',
          stance: 'keep',
          reason: 'waits for example.com/tier',
        }),
      ],
    }),
    says: ['still has the startup taint', 'waits for example.com/tier'],
  },
  'dry-run': {
    page: nodeDocument({ replica: replicaDocument({ dryRun: true }), keys: [keyDocument({ onNode: null })] }),
    says: ['this is a dry run', 'rollcall writes nothing until'],
  },
  'not-heard-yet': {
    page: nodeDocument({
      agent: { state: 'unheard' },
      services: [
        nodeServiceDocument({
          state: 'unknown',
          reason: 'the agent has not reported to this leader yet',
          checks: checks({
            state: 'unknown',
            reason: 'the agent has not reported to this leader yet',
            cause: 'unknown',
          }),
        }),
      ],
      keys: [held('the agent has not reported to this leader yet')],
    }),
    says: ['has not reported to this leader yet', 'until the agent reports'],
  },
};

const node: NodeObject = {
  metadata: {
    name: 'node-7',
    managedFields: [
      { manager: 'rollcall', fieldsV1: { 'f:metadata': { 'f:labels': { [`f:${READY_LABEL}`]: {} } } } },
      { manager: 'kubectl-label', fieldsV1: { 'f:metadata': { 'f:labels': { 'f:example.com/tier': {} } } } },
    ],
  },
};

describe('why', () => {
  test.each(Object.keys(SITUATIONS))('%s: the cause is in the first two lines', async (name) => {
    const { page, says } = SITUATIONS[name] ?? { page: nodeDocument(), says: [] };
    for (const [width, terminal] of Object.entries(TERMINALS)) {
      const { isWell, text } = whyNodeText(page, { node, terminal });
      expect(isWell).toBe(false);
      await expect(text).toMatchFileSnapshot(`golden/${name}-${width}.txt`);
      if (width !== 'piped') continue;
      const [first = '', second = ''] = text.split('\n');
      for (const words of says) expect(`${first}\n${second}`).toContain(words);
    }
  });

  test.each(Object.keys(SITUATIONS))('%s: the same is said of the key', (name) => {
    const { page, says } = SITUATIONS[name] ?? { page: nodeDocument(), says: [] };
    const key = page.keys.at(-1);
    const { text } = whyNodeText(page, {
      ...(key ? { key } : {}),
      node,
      terminal: { columns: undefined, colors: false },
    });
    const [first = '', second = ''] = text.split('\n');
    expect(first).toContain(`node/node-7 `);
    expect(`${first}\n${second}`).toContain(says[0]);
  });

  test('says nothing of pods and probes that the service does not ask for', () => {
    const { text } = whyNodeText(SITUATIONS['no-csi-driver']?.page ?? nodeDocument(), {
      terminal: { columns: undefined, colors: false },
    });
    expect(text).not.toMatch(/^ *(pod|probe) /m);
  });

  test('says that all is well where it is', async () => {
    const { isWell, text } = whyNodeText(nodeDocument(), { node, terminal: { columns: 80, colors: false } });
    expect(isWell).toBe(true);
    await expect(text).toMatchFileSnapshot('golden/well-80.txt');
  });

  test.each(Object.keys(TERMINALS))('unknown-crd, %s: that it is not installed is in the first line', async (width) => {
    const failure = unknownKey(nodeDocument(), 'example.com/tier', ['nodepoollabels']);
    const text = failureText(failure, TERMINALS[width] ?? { columns: undefined, colors: false });
    await expect(text).toMatchFileSnapshot(`golden/unknown-crd-${width}.txt`);
    expect(failure.message).toContain('the CRD of nodepoollabels is not installed');
    expect(failure.cure).toMatch(/^kubectl apply -f deploy\/crds\/nodepoollabels\.yaml, /);
  });

  test('of a key that no labeler decides about names one that is like it, else where to look', () => {
    const near = unknownKey(nodeDocument(), 'ws-daemon_ready_ns_default', ['nodeservices']);
    expect(near).toMatchObject({ cure: `did you mean ${READY_LABEL}?`, exitCode: 1 });
    const none = unknownKey(nodeDocument(), 'example.com/tier', []);
    expect(none.message).toBe('rollcall does not decide about example.com/tier on node/node-7');
    expect(none.cure).toContain('kubectl get nodeservices,nodepoollabels -A -o wide');
  });

  test('names who owns a key', () => {
    const { page } = SITUATIONS['foreign-owner'] ?? { page: nodeDocument() };
    const { text } = whyNodeText(page, {
      ...(page.keys[0] ? { key: page.keys[0] } : {}),
      node,
      terminal: { columns: undefined, colors: false },
    });
    expect(text).toContain('"silver", owned by kubectl-label');
  });

  test('of a standby says who to ask', () => {
    const { isWell, text } = whyNodeText(
      nodeDocument({ replica: replicaDocument({ leading: false, leader: 'other' }) }),
      {
        terminal: { columns: undefined, colors: false },
      },
    );
    expect(isWell).toBe(false);
    expect(text).toMatch(/^The state is unknown.*\nAsk the leader, other\./);
  });
});

describe('why a pod may go where', () => {
  const pod = { namespace: 'default', name: 'ws-1', workspace: 'regular', images: [] };
  const passing = (name: string, score: number) => ({ name, passes: true, refusals: [], score, terms: [{}] });
  const refused = (name: string, message: string) => ({
    name,
    passes: false,
    refusals: [{ rule: 'r', message }],
    score: 0,
    terms: [{}],
  });
  const of = (nodes: ScheduleDocument['nodes']) =>
    whyPodText({ replica: replicaDocument(), pod, nodes }, { columns: 80, colors: false }, false);

  test('names the best node, and what most of the others are refused for', async () => {
    const { isWell, text } = of([
      passing('node-1', 3),
      passing('node-2', 9),
      refused('node-3', 'ws-daemon is not ready'),
      refused('node-4', 'ws-daemon is not ready'),
    ]);
    expect(isWell).toBe(true);
    await expect(text).toMatchFileSnapshot('golden/pod-some-80.txt');
  });

  test('says why there is none', () => {
    const { isWell, text } = of(
      Array.from({ length: 50 }, (_, index) =>
        refused(`node-${index}`, index < 40 ? 'the node is full' : 'ws-daemon is not ready'),
      ),
    );
    expect(isWell).toBe(false);
    expect(text.split('\n').slice(0, 2)).toEqual([
      'pod/default/ws-1 may run on none of 50 nodes.',
      '40 nodes: the node is full; 10 nodes: ws-daemon is not ready',
    ]);
    expect(text).toContain('… and 30 more');
  });
});
