import { KEY_LENGTH_MAX, KEY_RULE, LABEL_VALUE, text, validation } from './crd-parts.ts';

/** More would be over the API server's budget for the cost of expressions. */
const REQUIREMENTS_MAX = 16;
const VALUES_MAX = 64;

const matchLabels = {
  description: 'Labels that have to be there with these values.',
  type: 'object',
  maxProperties: REQUIREMENTS_MAX,
  additionalProperties: LABEL_VALUE,
  'x-kubernetes-validations': [
    validation('self.all(k, !format.qualifiedName().validate(k).hasValue())', `a key is none of a label: ${KEY_RULE}`),
  ],
};

const matchExpressions = {
  description: 'What else has to be so.',
  type: 'array',
  maxItems: REQUIREMENTS_MAX,
  'x-kubernetes-list-type': 'atomic',
  items: {
    type: 'object',
    required: ['key', 'operator'],
    properties: {
      key: text('The key of a label.', {
        maxLength: KEY_LENGTH_MAX,
        'x-kubernetes-validations': [
          validation('!format.qualifiedName().validate(self).hasValue()', `this is no key of a label: ${KEY_RULE}`),
        ],
      }),
      operator: text('How the label is compared.', { enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'] }),
      values: {
        description: 'For In and NotIn, which need at least one.',
        type: 'array',
        maxItems: VALUES_MAX,
        'x-kubernetes-list-type': 'atomic',
        items: LABEL_VALUE,
      },
    },
    'x-kubernetes-validations': [
      validation(
        "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",
        'In and NotIn need values, Exists and DoesNotExist take none',
      ),
    ],
  },
};

/** A LabelSelector as Kubernetes has it. `isRequired`: it has to ask for something. */
export function labelSelector(description: string, isRequired = false) {
  const some =
    '(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)';
  return {
    description,
    type: 'object',
    properties: { matchLabels, matchExpressions },
    ...(isRequired
      ? { 'x-kubernetes-validations': [validation(some, 'it would select every pod of the namespace')] }
      : {}),
  };
}
