import { SEEN_KINDS } from '@rollcall/common/checks/check-kinds.ts';
import { rfc3339 } from '@rollcall/common/rfc3339.ts';
import { PROBED_KINDS, probeOf } from '@rollcall/coordinator/decide/readiness/probes.test-fixtures.ts';
import type { Service } from '@rollcall/coordinator/model/services.ts';
import { type ObservedNodeService, observeNodeService } from '@rollcall/coordinator/state/services/node-service.ts';
import { isAtAddress, OFFERED_KINDS, type OfferedKind } from './actors.ts';
import { DEVICE_NAMES, SHAPES } from './kinds.ts';

export const POOL_LABEL = 'agentpool';
export const POOLS = ['a', 'b'] as const;
export const NODE_SERVICE_NAMES = ['x', 'y'] as const;
export const PORTS = [1001, 1002] as const;
/** Name of the check that agents make. */
const PROBE = 'port';
/** Room for one check of 100 ms beside three of a second. */
export const PROBES_PER_SECOND = 13;
/** What keys of NodeServices have to begin with. */
export const ALLOWED_PREFIXES = ['svc.example/', 'readiness.k8s.io/'] as const;

/** What is checked; all of it has to pass. */
export type Checks = {
  pods?: string;
  /** Asked by the agent, by a probe of the kind `probe`; by default `tcp`. */
  port?: number;
  probe?: string;
  isFast?: true;
  /** Of a file alone: what it has to be newer than. */
  newerThan?: 'Boot' | 'Pod';
  /** The name of the devices, or their id. */
  device?: (typeof DEVICE_NAMES)[number];
  offered?: OfferedKind;
  /** What was seen to pass counts as passed for 10 s more. */
  hasGrace?: true;
};

export type NodeServiceSpec = {
  checks: Checks;
  /** The only pool whose nodes are selected. */
  pool?: string;
  /** Judged until it is ready on a node for the first time. */
  startup?: true;
  /** Nothing in a dry run. */
  publish: Service['publish'];
  /** In a dry run, what is written as `publish`. */
  dryRun?: Service['publish'];
  /** It has a field that no version knows. */
  unknownField?: true;
};

/** A NodeService as it is stored. */
export type NodeServiceObject = {
  name: string;
  uid: string;
  generation: number;
  createdAtMs: number;
  /** When its last dry run ended, as its status has it. */
  inForceSinceMs?: number;
  spec: NodeServiceSpec;
};

/** Every key that a NodeService of the model may name, as `kind:key`. */
export const PUBLISHED_IDS: readonly string[] = NODE_SERVICE_NAMES.flatMap((name) => [
  `label:${labelOf(name)}`,
  `label:other.example/${name}`,
  `label:${renamedLabelOf(name)}`,
  `taint:${taintOf(name)}`,
  `condition:${conditionOf(name)}`,
]);

export function labelOf(name: string): string {
  return `svc.example/${name}`;
}

/** Another label that it may publish. */
export function renamedLabelOf(name: string): string {
  return `svc.example/${name}-renamed`;
}

export function taintOf(name: string): string {
  return `readiness.k8s.io/${name}`;
}

export function conditionOf(name: string): string {
  return `svc.example/${name.toUpperCase()}`;
}

/** The same spec with this as what is written as `publish`. */
export function publishing({ dryRun, ...spec }: NodeServiceSpec, publish: Service['publish']): NodeServiceSpec {
  return dryRun ? { ...spec, publish: {}, dryRun: publish } : { ...spec, publish };
}

/** The same spec, as a dry run, or in force where it is one. */
export function turned({ dryRun, ...spec }: NodeServiceSpec): NodeServiceSpec {
  return dryRun ? { ...spec, publish: dryRun } : { ...spec, publish: {}, dryRun: spec.publish };
}

/** The keys that a NodeService asks for: none in a dry run. */
export function idsOf({ publish: { label, taint, condition } }: Pick<NodeServiceSpec, 'publish'>): string[] {
  return [
    ...(label === undefined ? [] : [`label:${label}`]),
    ...(taint ? [`taint:${taint.key}`] : []),
    ...(condition === undefined ? [] : [`condition:${condition}`]),
  ];
}

export const GRACE_MS = 10_000;

/** The kinds among those that are offered which can have a grace. */
export function canHaveGrace(kind: OfferedKind): boolean {
  return SEEN_KINDS[kind].schema.properties?.['grace'] !== undefined;
}

/**
 * §10: a verdict of an agent counts only if it was made for the check as it is now: what is asked, and where. `podStart`: of
 * the pod of the service.
 */
export function checkId(name: string, { port, probe = 'tcp', pods, isFast, newerThan }: Checks, podStart = ''): string {
  const place = pods !== undefined && isAtAddress(probe) ? 'pod' : 'node';
  const start = newerThan === 'Pod' ? ` of ${podStart}` : '';
  return `${name}/${PROBE} ${probe} ${port} ${place}${isFast ? ' fast' : ''} ${newerThan}${start}`;
}

/** The object as a watch shows it. */
export function observed({ name, spec, inForceSinceMs, ...object }: NodeServiceObject): ObservedNodeService {
  const { pods, port, probe = 'tcp', isFast, newerThan, offered, device, hasGrace } = spec.checks;
  const grace = hasGrace ? { grace: `${GRACE_MS / 1000}s` } : {};
  return observeNodeService({
    metadata: { ...object, name, creationTimestamp: new Date(object.createdAtMs).toISOString(), resourceVersion: '' },
    spec: {
      ...(spec.pool === undefined ? {} : { nodeSelector: { matchLabels: { [POOL_LABEL]: spec.pool } } }),
      checks: [
        ...(pods === undefined
          ? []
          : [
              { name: 'pod', pods: { namespace: 'default', selector: { matchLabels: { component: pods } }, ...grace } },
            ]),
        ...(port === undefined
          ? []
          : [
              {
                name: PROBE,
                [probe]: { ...probeOf(probe, port), ...(newerThan ? { newerThan } : {}) },
                ...(isFast ? { period: '100ms' } : {}),
              },
            ]),
        ...(offered === undefined
          ? []
          : [{ name: 'offered', [offered]: { ...SHAPES[offered].check, ...(canHaveGrace(offered) ? grace : {}) } }]),
        ...(device === undefined ? [] : [{ name: 'device', device: { name: device } }]),
      ],
      ...(spec.startup ? { mode: 'Startup' } : {}),
      publish: spec.dryRun ?? spec.publish,
      ...(spec.dryRun ? { dryRun: true } : {}),
      ...(spec.unknownField ? { unheardOf: true } : {}),
    },
    ...(inForceSinceMs === undefined
      ? {}
      : { status: { observedGeneration: object.generation, inForceSince: rfc3339(inForceSinceMs) } }),
  });
}

type Draw = { random: () => number; pick: <T>(list: readonly T[]) => T };

const CHECKS: readonly ((name: string, port: number) => Checks)[] = [
  (_, port) => ({ port }),
  (_, port) => ({ port, isFast: true }),
  (pods) => ({ pods }),
  (pods, port) => ({ pods, port }),
  (pods, port) => ({ pods, port, isFast: true }),
  () => ({ device: DEVICE_NAMES[0] }),
  (_, port) => ({ port, device: DEVICE_NAMES[0] }),
];

/** What is asked besides by the agent, pods and devices, and how. */
function drawChecks(name: string, draw: Draw): Checks {
  const drawn = drawKinds(name, draw);
  const { random, pick } = draw;
  const isOfFile = drawn.probe === 'file' && random() < 0.7;
  const newerThan = pick(drawn.pods === undefined ? (['Boot'] as const) : (['Boot', 'Pod', 'Pod'] as const));
  return {
    ...drawn,
    ...(drawn.device === undefined ? {} : { device: pick(DEVICE_NAMES) }),
    ...((drawn.pods ?? drawn.offered) !== undefined && random() < 0.3 ? { hasGrace: true } : {}),
    ...(isOfFile ? { newerThan } : {}),
  };
}

function drawKinds(name: string, { random, pick }: Draw): Checks {
  if (random() < 0.3) return { ...(random() < 0.5 ? { pods: name } : {}), offered: pick(OFFERED_KINDS) };
  const checks = pick(CHECKS)(name, pick(PORTS));
  if (checks.port === undefined || random() < 0.5) return checks;
  const probe = pick(PROBED_KINDS);
  // A probe that names no port is for the first.
  return { ...checks, probe, ...(probe === 'kubernetesService' ? { port: PORTS[0] } : {}) };
}

/** With and without a budget. */
const TAINTS = [{ value: '' }, { value: 'v', maxUnavailable: '100%' }] as const;

/** A spec as a person writes it; now and then a mistake, or the keys of another NodeService. */
export function drawSpec(name: string, { random, pick }: Draw): NodeServiceSpec {
  const keysOf = random() < 0.15 ? pick(NODE_SERVICE_NAMES) : name;
  const mistake = random();
  const label = mistake < 0.1 ? `other.example/${name}` : labelOf(keysOf);
  const effect = pick(['NoSchedule', 'NoExecute'] as const);
  const publish = {
    ...(random() < 0.6 || mistake < 0.1 ? { label } : {}),
    ...(random() < 0.6 ? { taint: { key: taintOf(keysOf), ...pick(TAINTS), effect } } : {}),
    ...(random() < 0.5 ? { condition: conditionOf(keysOf) } : {}),
  };
  return {
    checks: drawChecks(name, { random, pick }),
    ...(random() < 0.25 ? { pool: 'a' } : {}),
    ...(random() < 0.25 ? { startup: true } : {}),
    publish: Object.keys(publish).length > 0 ? publish : { label },
    ...(mistake > 0.9 ? { unknownField: true } : {}),
  };
}
