import type { Schema } from './value.ts';

/** Schemas of what the chart hands on to Kubernetes as it is. */

export const STRING_MAP: Schema = { type: 'object', additionalProperties: { type: 'string' } };

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

export const NAMES: Schema = { type: 'array', items: { ...closed({ name: { type: 'string' } }), required: ['name'] } };

/** A number of pods, or a share such as 10%; empty leaves it to the chart. */
export const PODS_OR_SHARE: Schema = { type: ['integer', 'string'], pattern: '^([0-9]+%)?$', minimum: 0 };

/** Excludes the virtual nodes of AWS Fargate and Virtual Kubelet, which run no DaemonSets and have no hardware. */
export const NOT_VIRTUAL = {
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [
        {
          matchExpressions: [
            { key: 'eks.amazonaws.com/compute-type', operator: 'NotIn', values: ['fargate'] },
            { key: 'type', operator: 'NotIn', values: ['virtual-kubelet'] },
          ],
        },
      ],
    },
  },
};

export function closed(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: 'object', additionalProperties: false, properties };
}
