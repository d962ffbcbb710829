import type { Schema } from './value.ts';

/** Schemas of what the chart hands on to Kubernetes as it is. */

const DNS_LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
/** Name of most objects, and domain of a key. */
export const DNS_SUBDOMAIN = `^${DNS_LABEL}([.]${DNS_LABEL})*$`;
const QUALIFIED_NAME = '^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$';
const LABEL_VALUE = '^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$';

/** Name of an object, or nothing. */
export const NAME_OR_NONE = DNS_SUBDOMAIN.replace(/^\^(.*)\$$/, '^($1)?$');
/** An object with keys of this pattern. (Helm names the wrong place where `propertyNames` is not met.) */
export function keyed(pattern: string, schema: Schema): Schema {
  return { type: 'object', additionalProperties: false, patternProperties: { [pattern]: schema } };
}

export const LABELS = keyed(QUALIFIED_NAME, { type: 'string', pattern: LABEL_VALUE });
export const ANNOTATIONS = keyed(QUALIFIED_NAME, { type: 'string' });

const IMAGE_PATH = '[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*';
const HOST = '([A-Za-z0-9.-]+|\\[[0-9A-Fa-f:]+\\])(:[0-9]+)?';
/** What comes before the name of an image: a host, a port and a path, without a scheme. */
export const REGISTRY_OR_NONE = `^(${HOST}(/${IMAGE_PATH})?/?)?$`;
/** Name of an image, without a tag and a digest. */
export const REPOSITORY = `^(${HOST}/)?${IMAGE_PATH}$`;
export const TAG_OR_NONE = '^([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$';

/** An absolute path that the API server takes for a volume and a mount: without "." and ".." between slashes. */
export const PATH = '(/([^/,:.][^/,:]*|[.][^/,:.][^/,:]*|[.][.][^/,:]+))+';
/** What the label of a key begins with. */
export const PREFIX = '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9._-]*$|^[A-Za-z0-9][A-Za-z0-9._-]*$';

/** What Kubernetes itself looks into. */
export const ANY_OBJECT: Schema = { type: 'object', additionalProperties: true };
export const OBJECTS: Schema = { type: 'array', items: ANY_OBJECT };

const QUANTITIES: Schema = { type: 'object', additionalProperties: { type: ['string', 'number'] } };

export const RESOURCES: Schema = closed({ limits: QUANTITIES, requests: QUANTITIES });

export const TOLERATIONS: Schema = {
  type: 'array',
  items: closed({
    key: { type: 'string' },
    operator: { enum: ['Exists', 'Equal', 'Lt', 'Gt'] },
    value: { type: 'string' },
    effect: { enum: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] },
    tolerationSeconds: { type: 'integer' },
  }),
};

export const NAMES: Schema = {
  type: 'array',
  items: { ...closed({ name: { type: 'string', pattern: DNS_SUBDOMAIN } }), required: ['name'] },
};

/** A number of pods, or a share such as 10%; empty leaves it to the chart. */
export const PODS_OR_SHARE: Schema = { type: ['integer', 'string'], pattern: '^([0-9]+%)?$', minimum: 0 };

/** Architectures of the image; without the virtual nodes of AWS Fargate and Virtual Kubelet, which run no DaemonSets. */
export const REAL_NODES = [
  { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64', 'arm64'] },
  { key: 'eks.amazonaws.com/compute-type', operator: 'NotIn', values: ['fargate'] },
  { key: 'type', operator: 'NotIn', values: ['virtual-kubelet'] },
];
export const ON_REAL_NODES = {
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: REAL_NODES }] },
  },
};

export function closed(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: 'object', additionalProperties: false, properties };
}
