import type { Schema } from '@rollcall/common/checks/schema.ts';
import { Holds } from '@rollcall/coordinator/state/holds/holds.ts';
import type { ObservedNodeHold } from '@rollcall/coordinator/state/holds/node-hold.ts';
import { PodCollection } from '@rollcall/coordinator/state/pod-collection.ts';
import type { ObservedPoolLabelSet, PoolLabelKind } from '@rollcall/coordinator/state/pool-label-sets.ts';
import type { ObservedNodeService } from '@rollcall/coordinator/state/services/node-service.ts';
import { createHoldStatusController } from '@rollcall/coordinator/subscribers/status/hold-status-controller.ts';
import { createServiceStatusController } from '@rollcall/coordinator/subscribers/status/service-status-controller.ts';
import { type SetStatus, setStatus } from '@rollcall/coordinator/subscribers/status/set-status.ts';
import { statusControllerRig } from '@rollcall/coordinator/subscribers/status/status-controller.test-fixtures.ts';
import { StatusController } from '@rollcall/coordinator/subscribers/status/status-controller.ts';
import { describe, expect, test } from 'vitest';
import { NODE_HOLD_CRD } from './node-hold.ts';
import { NODE_SERVICE_CRD } from './node-service.ts';
import { NODE_POOL_LABELS_CRD, POOL_LABEL_SET_CRD } from './pool-label-set.ts';

// Whatever the coordinator has to say of an object, its CRD admits the status that it writes.

const LONG = '\u{1F600}'.repeat(100_000);
/** What another client may have written before the CRD had a limit. */
const before = (type: string, status: string) => ({
  observedGeneration: 1,
  nodes: { selected: 1, ready: 1, notReady: 0, unknown: 0 },
  conditions: ['Ready', 'Stalled', type].map((each) => ({
    ...{ type: each, status, reason: 'x'.repeat(100_000), message: LONG },
    lastTransitionTime: `2026-01-01T00:00:00.${'0'.repeat(100_000)}Z`,
  })),
});

type Crd = { spec: { versions: { schema: { openAPIV3Schema: { properties: { status: Schema } } } }[] } };

function statusOf(crd: object): Schema {
  const [version] = (crd as Crd).spec.versions;
  return version?.schema.openAPIV3Schema.properties.status ?? {};
}

/** The fields, by path, of which the schema refuses the value, as the API server would. */
function refusedIn(schema: Schema, value: unknown, path: string): string[] {
  if (typeof value === 'string') {
    const isFit =
      [...value].length <= (schema.maxLength ?? Number.POSITIVE_INFINITY) &&
      (schema.enum?.includes(value) ?? true) &&
      new RegExp(schema.pattern ?? '').test(value) &&
      (schema.format !== 'date-time' || !Number.isNaN(Date.parse(value)));
    return isFit ? [] : [path];
  }
  if (Array.isArray(value)) {
    const isFit = schema.items !== undefined && value.length <= (schema.maxItems ?? 0);
    return [
      ...(isFit ? [] : [path]),
      ...value.flatMap((each, at) => refusedIn(schema.items ?? {}, each, `${path}[${at}]`)),
    ];
  }
  if (typeof value !== 'object' || value === null) return schema.type === 'integer' ? [] : [path];
  const { properties = {} } = schema;
  return [
    ...(schema.required ?? []).filter((name) => !Object.hasOwn(value, name)).map((name) => `${path}.${name}`),
    ...Object.entries(value).flatMap(([name, each]) => {
      // A merge patch removes it.
      if (each === null) return [];
      return properties[name] ? refusedIn(properties[name], each, `${path}.${name}`) : [`${path}.${name}`];
    }),
  ];
}

type Rig = ReturnType<typeof statusControllerRig>;

async function writtenBy({ clock, requests }: Rig, controller: { tick: () => Promise<void> }): Promise<unknown> {
  await clock.advance(1000);
  await controller.tick();
  expect(requests).toHaveLength(1);
  return (requests[0]?.body as { status: unknown } | undefined)?.status;
}

function ofHold(change: Partial<ObservedNodeHold>): Promise<unknown> {
  const rig = statusControllerRig();
  const holds = new Holds(rig.clock);
  const hold = {
    uid: 'u',
    name: 'n',
    generation: 1,
    problem: undefined,
    status: undefined,
    pods: undefined,
    ...change,
  };
  holds.all.handlers().onReplace([hold]);
  const isNode = () => true;
  return writtenBy(rig, createHoldStatusController({ ...rig, holds, isNode, problemOf: () => LONG }));
}

function ofService(change: object, { refusal, isYoung }: { refusal?: object; isYoung?: boolean } = {}) {
  const rig = statusControllerRig();
  const publish = { label: LONG, taint: { key: LONG, effect: LONG }, condition: LONG };
  const service = { name: LONG, checks: [], publish };
  const object = { name: 'n', uid: 'u', generation: 1, service, ...change } as unknown as ObservedNodeService;
  const controller = createServiceStatusController({
    serviceRegistry: {
      all: { all: () => [object], noteStatus: () => {} },
      isJudged: () => true,
      refusalOf: () => refusal,
    } as never,
    evaluator: {
      withheld: () => LONG,
      tally: {
        count: () => ({ ready: 0, 'not-ready': 0, unknown: 1 }),
        commonest: () => ({ reason: LONG, nodes: 1, example: LONG }),
      },
    } as never,
    fleet: { servicePods: new PodCollection(), term: { isYoung: () => isYoung ?? false } } as never,
    problemOf: () => undefined,
    isCounting: () => false,
    writes: rig.writes,
  });
  return writtenBy(rig, controller);
}

function ofPool(kind: PoolLabelKind, tally: object, refused: number, status?: unknown): Promise<unknown> {
  const rig = statusControllerRig();
  const labels = { a: 'b' };
  const set: ObservedPoolLabelSet = {
    ...{ kind, uid: 'u', name: 'n', namespace: 'a', generation: 1, createdAt: '', pool: LONG, labels, status },
  };
  const facts = {
    ...{ set, overruledBy: undefined, previous: status, now: '2026-01-01T00:00:00Z' },
    refused: Array.from({ length: refused }, () => ({ key: LONG, reason: LONG })),
    tally: { matched: 3, labelled: 1, conflicts: [], ...tally },
  };
  const controller = new StatusController<ObservedPoolLabelSet, SetStatus>({
    ...{ writes: rig.writes, kind, path: () => '', tellingOf: () => undefined },
    objects: { all: () => [set], noteStatus: () => {} },
    look: () => () => setStatus(facts),
  });
  return writtenBy(rig, controller);
}

const conflict = { node: LONG, key: LONG };
const POOLS = [
  ['NodePoolLabels', NODE_POOL_LABELS_CRD],
  ['NodePoolLabelSet', POOL_LABEL_SET_CRD],
] as const;

describe('a status is one that its CRD admits, however long what it tells is:', () => {
  test.each<[string, object, () => Promise<unknown>]>([
    ['of a NodeHold that is refused', NODE_HOLD_CRD, () => ofHold({ problem: LONG, status: before('Odd', 'False') })],
    ['of a NodeHold whose pods may not be watched', NODE_HOLD_CRD, () => ofHold({})],
    [
      'of a NodeService that is refused',
      NODE_SERVICE_CRD,
      () => ofService({}, { refusal: { reason: 'A', message: LONG } }),
    ],
    [
      'of a NodeService that is not ready',
      NODE_SERVICE_CRD,
      () => ofService({ status: before('NodesReady', 'Unknown') }),
    ],
    [
      'of a NodeService that a leader before found ready',
      NODE_SERVICE_CRD,
      () => ofService({ status: before('NodesReady', 'True') }, { isYoung: true }),
    ],
    ...POOLS.flatMap(([kind, crd]): [string, object, () => Promise<unknown>][] => [
      [`of ${kind} with refused keys`, crd, () => ofPool(kind, {}, 50, before('NodesLabelled', 'False'))],
      [`of ${kind} in conflict`, crd, () => ofPool(kind, { conflicts: Array(50).fill(conflict) }, 0)],
      [`of ${kind} without nodes`, crd, () => ofPool(kind, { matched: 0 }, 0)],
    ]),
  ])('%s', async (_what, crd, written) => {
    expect(refusedIn(statusOf(crd), await written(), 'status')).toEqual([]);
  });
});
