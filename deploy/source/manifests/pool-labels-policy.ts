import { POOL_KEYS_LENGTH_MAX } from '@rollcall/common/pool-labels.ts';
import { MANAGED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import {
  POOL_LABEL_KINDS,
  POOL_LABEL_RESOURCES,
  type PoolLabelKind,
} from '@rollcall/coordinator/state/pool-label-sets.ts';
import { cel, celList, isForbidden, POOL_OF_PARAMS, poolOfNode } from './cel.ts';
import { manifestText } from './manifest.ts';
import { OWN_LABELS, OWN_PREFIXES, type PolicySettings } from './settings.ts';

/** A policy has one kind of parameters, so each kind has a policy. */
const POLICIES = { NodePoolLabels: 'rollcall-pool-labels', NodePoolLabelSet: 'rollcall-pool-label-sets' } as const;
const ADMISSION = 'admissionregistration.k8s.io/v1';

/** Nodes get the labels of their pool in the request that creates them. */
export function poolLabelsPolicies(settings: PolicySettings): string {
  return manifestText(POOL_LABEL_KINDS.flatMap((kind) => poolLabelsPolicy(kind, settings)));
}

function poolLabelsPolicy(kind: PoolLabelKind, settings: PolicySettings) {
  const name = POLICIES[kind];
  const { group, version, title } = POOL_LABEL_RESOURCES[kind];
  const { poolNamespace, services, poolLabels, identityLabels, poolPrefixes, reservedDomains } = settings;
  const reservedLabels = [
    ...identityLabels,
    MANAGED_LABELS_ANNOTATION,
    ...OWN_LABELS,
    ...services.map(({ label }) => label),
  ];
  return [
    {
      about:
        'Puts the labels of its pool on a Node in the request that creates it, so that no pod comes before them.\n' +
        `The labels are those of ${title}.\n` +
        'A label that cannot be set, or does not fit, is left out, as it would make the API server refuse the kubelet.',
      object: {
        apiVersion: ADMISSION,
        kind: 'MutatingAdmissionPolicy',
        metadata: { name },
        spec: {
          failurePolicy: 'Ignore',
          reinvocationPolicy: 'IfNeeded',
          paramKind: { apiVersion: `${group}/${version}`, kind },
          matchConstraints: {
            resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nodes'] }],
          },
          matchConditions: [
            {
              name: 'of-this-pool',
              expression: `${poolOfNode('object', poolLabels)}\n== ${POOL_OF_PARAMS}`,
            },
          ],
          variables: [
            { name: 'reservedLabels', expression: celList(reservedLabels) },
            { name: 'reservedPrefixes', expression: celList(OWN_PREFIXES) },
            { name: 'prefixes', expression: celList(poolPrefixes) },
            { name: 'reservedDomains', expression: celList(reservedDomains) },
            { name: 'labels', expression: 'object.metadata.?labels.orValue({})' },
            { name: 'given', expression: 'params.?spec.?labels.orValue({})' },
            {
              // So many characters of keys fit into the annotation that lists them, beside what the Node has already.
              name: 'room',
              expression: `${POOL_KEYS_LENGTH_MAX} - [object.metadata.?annotations.orValue({})].map(a, a.map(k, size(k) + size(a[k])).sum())[0]`,
            },
            {
              // The first keys that fit, were all as long as the longest.
              name: 'fitting',
              expression: cel(`
                variables.given.map(k, size(k) + 3).sum() <= variables.room ? variables.given.map(k, k)
                : variables.given.map(k, k).sort().slice(0, [variables.room, 0].max() / (variables.given.map(k, size(k)).max() + 3))`),
            },
            { name: 'last', expression: "size(variables.fitting) == 0 ? '' : variables.fitting.max()" },
            {
              name: 'wanted',
              expression: cel(`
                variables.given.transformMapEntry(k, v,
                  k <= variables.last
                  && !(k in variables.labels)
                  && !format.qualifiedName().validate(k).hasValue()
                  && !format.labelValue().validate(v).hasValue()
                  && !(k in variables.reservedLabels)
                  && !variables.reservedPrefixes.exists(p, k.startsWith(p))
                  && variables.prefixes.exists(p, k.startsWith(p))
                  && !${isForbidden('variables.reservedDomains')},
                  {k: v})`),
            },
            {
              // Keys that another object for the same pool has just listed stay listed.
              name: 'listed',
              expression: cel(`
                variables.labels.map(k, k).filter(k,
                  object.metadata.?annotations[?'${MANAGED_LABELS_ANNOTATION}'].orValue('').contains('"' + k + '"'))`),
            },
          ],
          mutations: [
            {
              patchType: 'ApplyConfiguration',
              applyConfiguration: {
                expression: cel(`
                  size(variables.wanted) == 0 ? Object{} : Object{
                    metadata: Object.metadata{
                      labels: variables.wanted,
                      annotations: {
                        '${MANAGED_LABELS_ANNOTATION}':
                          '["' + (variables.listed + variables.wanted.map(k, k)).sort().join('","') + '"]'
                      }
                    }
                  }`),
              },
            },
          ],
        },
      },
    },
    {
      about: `The ${title} of this namespace count, and of no other.`,
      object: {
        apiVersion: ADMISSION,
        kind: 'MutatingAdmissionPolicyBinding',
        metadata: { name },
        spec: {
          policyName: name,
          paramRef: { namespace: poolNamespace, selector: {}, parameterNotFoundAction: 'Allow' },
        },
      },
    },
  ];
}
