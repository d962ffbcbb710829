import { DNS_LABEL } from './check-kind.ts';
import { CHECK_KINDS, PROBE_KINDS } from './check-kinds.ts';
import { duration, type Schema, text, validation, whole } from './schema.ts';

const KINDS = mapSchemas(CHECK_KINDS);
/** Kinds that have a host. */
const AT_PORT = Object.keys(PROBE_KINDS).filter((kind) => KINDS[kind]?.properties?.['port']);

function mapSchemas(kinds: typeof CHECK_KINDS): Readonly<Record<string, Schema>> {
  return Object.fromEntries(Object.entries(kinds).map(([kind, { schema }]) => [kind, schema]));
}

const times = {
  period: duration(
    'period',
    'For probes: time between two of them, at most 1h. Defaults to 1s, and to 5s for a service that has been ready for a minute.',
    {},
    { least: '100ms', most: '1h' },
  ),
  timeout: duration('timeout', 'For probes: time-out of each, at most 1h. Defaults to 1s.', {}, { most: '1h' }),
  failureThreshold: whole(
    'For probes: number of failed ones in a row after which the check fails; after a refused connection it fails at once. Defaults to 3.',
    1,
    1000,
  ),
  successThreshold: whole(
    'For probes: number of successful ones in a row after which the check passes. Defaults to 1.',
    1,
    1000,
  ),
};

const name = text('Name of the check, unique among its neighbours.', DNS_LABEL);

/** What only checks that agents make have. */
const ofProbes = {
  ...times,
  of: text(
    'For probes: name of the check of pods whose pods are probed. Required if several checks are of the kind pods and the probe is at the address of a pod, or has newerThan: Pod.',
    DNS_LABEL,
  ),
};

/** Exactly one of these fields is set. */
function oneOf(kinds: readonly string[]) {
  return validation<object>(
    `[${kinds.map((kind) => `has(self.${kind})`).join(', ')}].filter(x, x).size() == 1`,
    `a check has exactly one kind: ${kinds.join(', ')}`,
    (check) => kinds.filter((kind) => kind in check).length === 1,
  );
}

const hasAny = (fields: readonly string[], of = 'self') => fields.map((field) => `has(${of}.${field})`).join(' || ');

/** What agents probe has times and pods; what the coordinator sees has none. */
const fieldsOfProbes = validation(
  `${hasAny(Object.keys(PROBE_KINDS))} || !(${hasAny(Object.keys(ofProbes))})`,
  `period, timeout, failureThreshold, successThreshold and of are for checks that agents make: ${Object.keys(PROBE_KINDS).join(', ')}`,
);

/** `asks`: whether a check needs pods that the service checks, in CEL. */
function needsPods(asks: (check: string) => string, message: string) {
  const some = (isSo: (check: string) => string) =>
    `self.exists(c, ${isSo('c')} || (has(c.anyOf) && c.anyOf.exists(d, ${isSo('d')})))`;
  return validation(`!${some(asks)} || ${some((check) => `has(${check}.pods)`)}`, message);
}

const hostOfPods = needsPods(
  (check) =>
    AT_PORT.map(
      (kind) => `(has(${check}.${kind}) && has(${check}.${kind}.host) && ${check}.${kind}.host == 'Pod')`,
    ).join(' || '),
  'host is Pod, but no check is of the kind pods: add one, or use Node or Loopback',
);
const startOfPods = Object.entries(PROBE_KINDS).flatMap(([kind, { ofPodStart }]) => {
  if (!ofPodStart) return [];
  const { field, value, otherwise } = ofPodStart;
  return needsPods(
    (check) => `(has(${check}.${kind}) && has(${check}.${kind}.${field}) && ${check}.${kind}.${field} == '${value}')`,
    `${kind}.${field} is ${value}, but no check is of the kind pods: add one, or use ${otherwise}`,
  );
});

const list = { type: 'array', minItems: 1, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] };

/** Checks of which one has to pass. */
export const anyOf = {
  ...list,
  description: 'Checks of which one must pass.',
  maxItems: 8,
  items: {
    type: 'object',
    required: ['name'],
    properties: { name, ...KINDS, ...ofProbes },
    'x-kubernetes-validations': [oneOf(Object.keys(KINDS)), fieldsOfProbes],
  },
};

/** What tells whether a service is ready. */
export const checks = {
  ...list,
  description: 'The checks, all of which must pass. Each has one kind.',
  maxItems: 16,
  items: {
    type: 'object',
    required: ['name'],
    properties: { name, ...KINDS, anyOf, ...ofProbes },
    'x-kubernetes-validations': [oneOf([...Object.keys(KINDS), 'anyOf']), fieldsOfProbes],
  },
  'x-kubernetes-validations': [hostOfPods, ...startOfPods],
};
