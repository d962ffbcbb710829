import {
  checkDocument,
  keyDocument,
  nodeDocument,
  nodeServiceDocument,
  replicaDocument,
} from '@rollcall/common/console.test-fixtures.ts';
import type { KeyDocument, NodeDocument, NodeServiceDocument } from '@rollcall/common/console.ts';
import { describe, expect, test } from 'vitest';
import { COLORED, toned } from '../testing/documents.test-fixtures.ts';
import { whyNodeText } from './node-text.ts';
import type { NodeObject } from './owners.ts';

/** With tones in words. */
function textOf(document: NodeDocument, { key, node }: { key?: KeyDocument; node?: NodeObject } = {}): string {
  return toned(whyNodeText(document, { ...(key ? { key } : {}), node, terminal: COLORED }).text);
}

const field = (name: string, text: string) => `  <quiet>${name.padEnd(10)}</>${text}\n`;
const ofService = (service: Partial<NodeServiceDocument>, change: Partial<NodeDocument> = {}) =>
  textOf(nodeDocument({ services: [nodeServiceDocument(service)], ...change }));
const ofKey = (change: Partial<KeyDocument>, document: Partial<NodeDocument> = {}, node?: NodeObject) => {
  const shown = nodeDocument({ keys: [keyDocument({ key: 'k', value: 'v', onNode: 'v', ...change })], ...document });
  const [key] = shown.keys;
  return textOf(shown, { ...(key ? { key } : {}), ...(node ? { node } : {}) });
};

describe('the evidence of a service', () => {
  test('is good where all of it is', () => {
    const text = ofService({ reason: 'all is well' });
    expect(text).toMatch(/^<good>node\/node-7 is as rollcall wants it.*\n<quiet>Nothing needs to change\.<\/>\n\n/);
    expect(text).toContain(
      [
        '\n\n<strong>ws-daemon</>\n',
        field('check', '<good>pod passes: pod default/ws-daemon-abc is Ready</>'),
        field('check', '<good>probe passes: tcp 10.0.0.7:8080 accepted the connection</>'),
        field('report', '<good>reporting, last 2.5 s ago, version 0.1.0</>'),
        field('verdict', '<good>ready, since 60m ago: all is well</>'),
      ].join(''),
    );
  });

  test('names a pod that no check is about', () => {
    const checks = [checkDocument({ name: 'pod', reason: 'pod default/ab is Ready' })];
    const pods = ['default/ab', 'default/a'].map((pod) => ({ pod, ready: true, terminating: false }));
    const text = ofService({ checks, pods });
    expect(text).toContain(field('pod', '<good>default/a is Ready</>'));
    expect(text).not.toContain(field('pod', '<good>default/ab is Ready</>'));
  });

  test('tells that the service was never ready yet, and which conditions about the lifecycle of the node are True', () => {
    const now = '2026-01-01T01:00:00Z';
    const starting = { since: '2026-01-01T00:50:00Z', deadline: '2026-01-01T01:05:00Z' };
    const text = ofService(
      { state: 'not-ready', starting },
      { replica: replicaDocument({ now }), lifecycle: ['DrainInProgress', 'MaintenancePlanned'] },
    );
    expect(text).toContain(field('startup', '<doubtful>never ready yet; node created 10m ago, deadline in 5m</>'));
    expect(text).toContain('lifecycle </><doubtful>DrainInProgress, MaintenancePlanned</>');
    expect(ofService({}, { lifecycle: [] })).not.toContain('lifecycle');
  });

  test('is bad where the service is not ready', () => {
    const text = ofService({
      state: 'not-ready',
      since: undefined,
      reason: undefined,
      pods: [{ pod: 'default/a', ready: false, terminating: false }],
      checks: [
        checkDocument({ name: 'port', state: 'not-ready', reason: 'no' }),
        checkDocument({ name: 'file', state: 'unknown', reason: 'not asked' }),
      ],
    });
    expect(text).toMatch(/^<bad>/);
    expect(text).toContain(field('pod', '<bad>default/a is not Ready</>'));
    expect(text).toContain(
      field('check', '<bad>port fails: no</>') + field('check', '<doubtful>file is unknown: not asked</>'),
    );
    expect(text).toContain(field('verdict', '<bad>not-ready</>'));
  });

  test('is bad of a pod that terminates, although it is Ready', () => {
    const pods = [{ pod: 'default/a', ready: true, terminating: true }];
    expect(ofService({ pods })).toContain(field('pod', '<bad>default/a is terminating</>'));
  });

  test('is doubtful where the state is unknown, and where the service is not for the node', () => {
    const since = undefined;
    expect(ofService({ state: 'unknown', since, reason: 'why' })).toContain(
      field('verdict', '<doubtful>unknown: why</>'),
    );
    expect(ofService({ state: undefined, since, reason: undefined })).toContain(
      field('verdict', '<doubtful>does not apply to this node</>'),
    );
  });

  test('is doubtful of an agent that is not fresh', () => {
    expect(ofService({}, { agent: { state: 'silent' } })).toContain(field('report', '<doubtful>silent</>'));
  });

  test('is shown where the verdict is another', () => {
    expect(ofService({ evidence: { state: 'ready', reason: 'why' } })).toContain(
      field('evidence', '<good>ready: why</>'),
    );
    expect(ofService({})).not.toContain('evidence');
  });
});

describe('a key', () => {
  const claim = (text: string) => field('claim', text);

  test('is shown with its claim, and what the node has of it', () => {
    const text = ofKey({});
    expect(text).toContain(claim('present label k=v (by readiness)') + field('node', '"v"'));
    expect(text).not.toMatch(/contested|skipped|dry run|overrules/);
  });

  test('that is not wanted is shown without a value', () => {
    expect(ofKey({ stance: 'absent', onNode: null })).toContain(
      claim('absent label k (by readiness)') + field('node', 'absent'),
    );
  });

  test('that is not watched is shown as such', () => {
    expect(ofKey({ onNode: undefined })).toContain(field('node', 'not checked'));
  });

  test('is shown with the reasons of those that it overrules', () => {
    const overruled = [{ labeler: 'pool-labels', stance: 'present', value: 'w', reason: 'asked for' }];
    expect(ofKey({ overruled })).toContain(field('', '<quiet>overrules pool-labels: present (asked for)</>'));
  });

  test('is shown with what keeps it from being written', () => {
    expect(ofKey({ contested: { rival: 'other', nextTrySeconds: 8 } })).toContain(
      field('contested', '<bad>by other</>'),
    );
    expect(ofKey({ skipped: { cause: 'denied', message: 'no' } })).toContain(field('skipped', '<bad>denied: no</>'));
    expect(ofKey({}, { replica: replicaDocument({ dryRun: true }) })).toContain(
      field('dry run', '<doubtful>nothing is written</>'),
    );
  });

  test('is shown with its owners, where the node may be read and has it', () => {
    const node: NodeObject = {
      metadata: {
        name: 'node-7',
        managedFields: [{ manager: 'rollcall', fieldsV1: { 'f:metadata': { 'f:labels': { 'f:k': {} } } } }],
      },
    };
    expect(ofKey({}, {}, node)).toContain(field('node', '"v", owned by rollcall'));
    expect(ofKey({ onNode: null }, {}, node)).toContain(field('node', 'absent'));
    expect(ofKey({}, {}, { metadata: { name: 'node-7' } })).toContain(
      field('node', '"v", owned by no manager in managedFields'),
    );
  });

  test('of no service has its reason below, and a line before it', () => {
    const text = ofKey({ service: undefined, reason: 'asked for' });
    expect(text).toContain(`\n\n${claim('present label k=v (by readiness)')}${field('', 'asked for')}`);
    expect(text).not.toContain('<strong>ws-daemon</>');
    expect(ofKey({ reason: 'asked for' })).not.toContain(field('', 'asked for'));
  });

  test('is alone where it is asked for, with its own service only', () => {
    const document = nodeDocument({
      services: [nodeServiceDocument(), nodeServiceDocument({ name: 'other' })],
      keys: [keyDocument({ key: 'k' }), keyDocument({ key: 'l' }), keyDocument({ key: 'm', service: undefined })],
    });
    const [key] = document.keys;
    const text = textOf(document, key ? { key } : {});
    expect(text).toContain('label k=');
    expect(text).not.toMatch(/label l=|label m=|other/);
  });
});

describe('the keys of a node', () => {
  const unseen = { stance: 'absent', onNode: undefined } as const;

  test('are shown below their service', () => {
    const services = [nodeServiceDocument({ name: 'a' }), nodeServiceDocument({ name: 'b' })];
    const keys = [keyDocument({ key: 'k', service: 'a' }), keyDocument({ key: 'l', service: 'b' })];
    const text = textOf(nodeDocument({ services, keys }));
    const order = ['<strong>a</>', 'label k=', '<strong>b</>', 'label l='].map((each) => text.indexOf(each));
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(order).not.toContain(-1);
  });

  test('are left out where they are not watched, and nothing is wanted', () => {
    const keys = [
      keyDocument({ key: 'unseen', ...unseen }),
      keyDocument({ key: 'held', stance: 'keep', onNode: undefined }),
      keyDocument({ key: 'absent', stance: 'absent', onNode: null }),
    ];
    const text = textOf(nodeDocument({ keys }));
    expect(text).not.toContain('unseen');
    expect(text).toContain('keep label held');
    expect(text).toContain('absent label absent');
  });

  test('of no service are in a table', () => {
    const keys = [
      keyDocument({ key: 'k', service: undefined, onNode: 'v', reason: 'asked for' }),
      keyDocument({ kind: 'taint', key: 't', service: undefined, onNode: undefined, reason: 'asked for' }),
      keyDocument({ key: 'n', service: undefined, stance: 'keep', onNode: null, reason: 'asked for' }),
      keyDocument({ key: 'unseen', service: undefined, ...unseen }),
    ];
    const table = [
      '\n\n<strong>KEY         STANCE    ON NODE   REASON</>',
      'k           present   v         asked for',
      't (taint)   present   ?         asked for',
      'n           keep      -         asked for\n',
    ];
    expect(textOf(nodeDocument({ keys }))).toContain(table.join('\n'));
    expect(textOf(nodeDocument({ keys: [] }))).not.toContain('STANCE');
  });
});

describe('changes', () => {
  const change = { at: '2026-03-01T11:57:00Z', kind: 'label', key: 'k', reason: 'why' } as const;

  test('are said to be none where there is none', () => {
    expect(textOf(nodeDocument())).toMatch(/\n\n<quiet>No change by this coordinator yet\.<\/>\n$/);
  });

  test('are shown with what was there before', () => {
    const changes = [
      { ...change, from: 'v' },
      { ...change, to: 'w' },
      { ...change, from: '', to: 'w' },
    ];
    expect(textOf(nodeDocument({ changes }))).toMatch(/\n\n<strong>last changes<\/>\n/);
    expect(textOf(nodeDocument({ changes }))).toContain(
      field('3m ago', 'k: v -> (absent): why') +
        field('3m ago', 'k: (absent) -> w: why') +
        field('3m ago', 'k: "" -> w: why'),
    );
  });

  test('of other keys are left out where one is asked for', () => {
    const changes = [
      { ...change, key: 'l', to: 'of another key' },
      { ...change, kind: 'taint' as const, to: 'of a taint of the same name' },
      { ...change, to: 'its own' },
    ];
    const text = ofKey({}, { changes });
    expect(text).toContain('its own');
    expect(text).not.toMatch(/of another key|of a taint/);
  });
});
