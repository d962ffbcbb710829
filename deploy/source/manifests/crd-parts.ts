import { text } from '@rollcall/common/checks/schema.ts';
import { STATUS_TEXT_LENGTHS } from '@rollcall/common/status-limits.ts';
import { PENDING_MESSAGE } from '@rollcall/common/well-known.ts';
import type { ManifestObject } from './manifest.ts';

/** Common parts of our CRDs. */

export const count = (description: string) => ({ description, type: 'integer', format: 'int32', minimum: 0 });

export const column = (name: string, type: string, jsonPath: string, description: string, priority = 0) => ({
  name,
  type,
  jsonPath,
  description,
  ...(priority > 0 ? { priority } : {}),
});

/** Whether an object is in force. */
export const inForceColumn = column(
  'In-Force',
  'string',
  '.status.conditions[?(@.type=="Ready")].status',
  'Whether the object is in force.',
);

export const ofCondition = (type: string, field: string) => `.status.conditions[?(@.type=="${type}")].${field}`;

/** The largest length of the text in this field of a status. */
export const longest = (field: keyof typeof STATUS_TEXT_LENGTHS) => ({ maxLength: STATUS_TEXT_LENGTHS[field] });

const READY = 'Ready: the object is in force; False while it is refused, and Unknown until a coordinator has read it.';
const STALLED =
  'Stalled: the object is refused, and stays so until somebody changes something; there only while that is so.';

/**
 * The conditions of an object, in the form that Kubernetes has for them: the same for all kinds, and `nodes`, a condition
 * about nodes and what it says, where the kind has one.
 */
export const conditions = (nodes?: { type: string; says: string }) => ({
  description: `Conditions: Ready, Stalled${nodes ? ` and ${nodes.type}` : ''}.`,
  type: 'array',
  maxItems: nodes ? 3 : 2,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: {
    type: 'object',
    required: ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
    properties: {
      type: text([READY, STALLED, ...(nodes ? [`${nodes.type}: ${nodes.says}`] : [])].join(' '), {
        enum: ['Ready', 'Stalled', ...(nodes ? [nodes.type] : [])],
      }),
      status: text('True, False or Unknown.', { enum: ['True', 'False', 'Unknown'] }),
      reason: text('Reason, as one word.', {
        ...longest('reason'),
        minLength: 1,
        pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
      }),
      message: text('Reason, as a sentence.', longest('message')),
      // As a format, it may have a fraction of any length.
      lastTransitionTime: text('Time of the last change of the status.', {
        format: 'date-time',
        ...longest('lastTransitionTime'),
      }),
      observedGeneration: {
        description: 'The metadata.generation that this condition refers to.',
        type: 'integer',
        format: 'int64',
        minimum: 0,
      },
    },
  },
});

/**
 * The status of an object, with what it has until a coordinator wrote one: so that no tool takes an object that nothing has
 * read for one that is in force.
 */
export const objectStatus = (properties: object) => ({
  description: 'Observed state. Written by rollcall.',
  type: 'object',
  properties: { observedGeneration, ...properties },
  default: {
    conditions: [
      {
        type: 'Ready',
        status: 'Unknown',
        reason: 'Pending',
        message: PENDING_MESSAGE,
        lastTransitionTime: '1970-01-01T00:00:00Z',
      },
    ],
  },
});

const observedGeneration = {
  description: 'The metadata.generation that the status refers to.',
  type: 'integer',
  format: 'int64',
};

type Names = { kind: string; plural: string; singular: string; shortNames: string[] };

/** Parts of every version of our CRDs that do not depend on the kind. `selectable`: fields for `--field-selector`. */
export const servedVersion = (selectable: readonly string[]) => ({
  served: true,
  storage: true,
  subresources: { status: {} },
  selectableFields: selectable.map((jsonPath) => ({ jsonPath })),
});

/** `kubectl get rollcall` lists the objects of all kinds. */
export const CATEGORIES = ['rollcall'];

/** A CRD of rollcall's own group, for objects that are in no namespace and have a status. */
export function clusterCrd(
  names: Names,
  schema: {
    description: string;
    columns: object[];
    selectable: readonly string[];
    validations?: object[];
    spec: object;
    status: object;
  },
): ManifestObject {
  const { description, columns, selectable, validations, spec, status } = schema;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${names.plural}.rollcall.dev` },
    spec: {
      group: 'rollcall.dev',
      scope: 'Cluster',
      names: { ...names, listKind: `${names.kind}List`, categories: CATEGORIES },
      versions: [
        {
          name: 'v1alpha1',
          ...servedVersion(selectable),
          additionalPrinterColumns: columns,
          schema: {
            openAPIV3Schema: {
              description,
              type: 'object',
              required: ['spec'],
              ...(validations ? { 'x-kubernetes-validations': validations } : {}),
              properties: {
                apiVersion: text('Version of the schema.'),
                kind: text(`${names.kind}.`),
                metadata: { type: 'object' },
                spec,
                status,
              },
            },
          },
        },
      ],
    },
  };
}
