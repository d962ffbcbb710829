import { type Schema, text, validation } from './schema.ts';

/** A LabelSelector, as Kubernetes has it: everything that is said has to be so, and nothing said selects everything. */
export type LabelSelector = {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly LabelRequirement[];
};

export type LabelRequirement = {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values?: readonly string[];
};

/** An API server's own rule for the value of a label, which is empty or at most 63 characters. */
export const LABEL_VALUE = {
  type: 'string',
  maxLength: 63,
  pattern: '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$',
};

/** DOMAIN/NAME or NAME, of which neither is longer than 253 and 63 characters. */
export const KEY_LENGTH_MAX = 317;

export const KEY_RULE =
  'it must be NAME or DOMAIN/NAME, with a name of at most 63 letters, digits, "-", "_" and ".", a letter or digit first and ' +
  'last, and the domain in lower case';

/** More would be over the API server's budget for the cost of expressions. */
const REQUIREMENTS_MAX = 16;
const VALUES_MAX = 64;

const matchLabels = {
  description: 'Labels that must be present with these values.',
  type: 'object',
  maxProperties: REQUIREMENTS_MAX,
  additionalProperties: LABEL_VALUE,
  'x-kubernetes-validations': [
    validation(
      'self.all(k, !format.qualifiedName().validate(k).hasValue())',
      `a key is not a valid label key: ${KEY_RULE}`,
    ),
  ],
};

const matchExpressions = {
  description: 'Requirements that must be met in addition.',
  type: 'array',
  maxItems: REQUIREMENTS_MAX,
  'x-kubernetes-list-type': 'atomic',
  items: {
    type: 'object',
    required: ['key', 'operator'],
    properties: {
      key: text('Key of a label.', {
        maxLength: KEY_LENGTH_MAX,
        'x-kubernetes-validations': [
          validation('!format.qualifiedName().validate(self).hasValue()', `not a valid label key: ${KEY_RULE}`),
        ],
      }),
      operator: text('Comparison of the label.', { enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'] }),
      values: {
        description: 'Values for In and NotIn, which need at least one.',
        type: 'array',
        maxItems: VALUES_MAX,
        'x-kubernetes-list-type': 'atomic',
        items: LABEL_VALUE,
      },
    },
    'x-kubernetes-validations': [
      validation(
        "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",
        'In and NotIn need values; Exists and DoesNotExist must not have any',
      ),
    ],
  },
};

/** A LabelSelector as Kubernetes has it. `isRequired`: it has to ask for something. */
export function labelSelector(description: string, isRequired = false): Schema {
  const some =
    '(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)';
  return {
    description,
    type: 'object',
    properties: { matchLabels, matchExpressions },
    ...(isRequired
      ? {
          'x-kubernetes-validations': [
            validation(
              some,
              'an empty selector would select every pod of the namespace; set matchLabels or matchExpressions',
            ),
          ],
        }
      : {}),
  };
}
