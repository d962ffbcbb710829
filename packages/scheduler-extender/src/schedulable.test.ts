import type { EvaluatedNode } from '@rollcall/coordinator/decide/labelers/labeler.ts';
import { snapshot } from '@rollcall/coordinator/decide/readiness/readiness.test-fixtures.ts';
import type { ServiceReadiness } from '@rollcall/coordinator/decide/readiness/tracker.ts';
import { serviceOf } from '@rollcall/coordinator/model/services.test-fixtures.ts';
import type { ObservedNode } from '@rollcall/coordinator/state/observed-node.ts';
import { describe, expect, test } from 'vitest';
import { schedulableNode } from './scheduling.ts';

const LABEL = 'gitpod.io/ws-daemon_ready_ns_default';
const BUILT_IN = serviceOf();
const OBJECT = serviceOf('a', { origin: { kind: 'object', uid: 'u', generation: 1, createdAtMs: 0 } });

type Situation = {
  node?: Partial<ObservedNode>;
  evaluated?: Partial<EvaluatedNode>;
  readiness?: Record<string, Partial<ServiceReadiness>>;
  required?: readonly string[];
};

function seen({ node = {}, evaluated = {}, readiness = {}, required }: Situation = {}) {
  const observed = { name: 'n', labels: {}, annotations: {}, ...node } as unknown as ObservedNode;
  const known = Object.entries(readiness).map(
    ([name, each]) => [name, { reason: 'r', cause: 'agent' as const, sinceMs: 0, ...each }] as const,
  );
  const whole = { ...snapshot(), readiness: new Map(known), ageMs: 0, ...evaluated } as unknown as EvaluatedNode;
  return schedulableNode(observed, whole, undefined, { services: [BUILT_IN, OBJECT], required });
}

describe('a node, as the scheduler extender sees it', () => {
  test('has what the Node says, and no more than is known', () => {
    const taints = [{ key: 'k', effect: 'NoSchedule' }];
    expect(seen({ node: { labels: { a: '1' }, taints } })).toMatchObject({
      ...{ name: 'n', labels: { a: '1' }, taints, deleting: false, fresh: true },
      ...{ workspaces: undefined, allocatable: undefined },
    });
    const allocatable = { cpu: '4', memory: '1Ki' };
    expect(seen({ node: { deleting: true, allocatable } })).toMatchObject({
      deleting: true,
      allocatable: { cpu: 4, memory: 1024 },
    });
  });

  test.each([
    ['fresh', true],
    ['leaving', true],
    ['silent', false],
    ['unheard', false],
    ['absent', false],
  ] as const)('whose agent is %s is fresh: %s', (state, fresh) => {
    expect(seen({ evaluated: { freshness: { state } } }).fresh).toBe(fresh);
  });
});

describe('the services that have to be ready', () => {
  test('are the built-in ones, or those that are named', () => {
    const namesOf = (required?: readonly string[]) =>
      seen(required ? { required } : {}).services.map(({ name }) => name);
    expect(namesOf()).toEqual(['ws-daemon']);
    expect(namesOf(['a'])).toEqual(['a']);
    expect(namesOf([])).toEqual([]);
  });

  test('are as they are evaluated, and as the Node shows them', () => {
    const damping = { untilMs: 1, falls: 4 };
    const readiness = { 'ws-daemon': { state: 'not-ready', reason: 'r', damping } } as const;
    expect(seen({ readiness }).services).toEqual([
      { name: 'ws-daemon', state: 'not-ready', shown: false, reason: 'r', falls: 4 },
    ]);
    expect(
      seen({ readiness: { 'ws-daemon': { state: 'ready' } }, node: { labels: { [LABEL]: 'true' } } }),
    ).toMatchObject({
      services: [{ state: 'ready', shown: true, falls: 0 }],
    });
  });

  test('are shown by the taint of a NodeService whatever the readiness gate is', () => {
    const { label = '', taint } = OBJECT.publish;
    const node = { labels: { [label]: 'true' }, taints: taint ? [taint] : [] };
    const readiness = { a: { state: 'ready' } } as const;
    expect(seen({ readiness, node, required: ['a'] }).services).toMatchObject([{ name: 'a', shown: false }]);
  });

  test('are not ready where they are not known, or not for the node, whatever the Node shows', () => {
    const node = { labels: { [LABEL]: 'true' } };
    expect(seen({ node, required: ['ws-daemon', 'nowhere'] }).services).toEqual([
      {
        ...{ name: 'ws-daemon', state: 'not-ready', shown: false, falls: 0 },
        reason: 'it does not apply to this node',
      },
      {
        ...{ name: 'nowhere', state: 'not-ready', shown: false, falls: 0 },
        reason: 'no NodeService of this name is accepted',
      },
    ]);
  });
});
