import { FIELD_MANAGER, MANAGED_LABELS_ANNOTATION, STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { cel, celList, isInDomains, POOL_OF_PARAMS, poolOfNode } from './cel.ts';
import { type ManifestObject, manifestText } from './manifest.ts';
import { POOL_LABEL_SET_PARAMS } from './pool-label-set.ts';
import type { PolicySettings } from './settings.ts';

const NAME = 'rollcall-fence';
const POOLS_NAME = 'rollcall-fence-pools';
const ADMISSION = 'admissionregistration.k8s.io/v1';

/** What may be in `spec` of a Node besides taints. */
const SPEC_FIELDS = ['unschedulable', 'providerID', 'podCIDR', 'podCIDRs', 'configSource', 'externalID'];

/** The coordinator may change what is its own on a Node, and nothing else. */
export function fencePolicies(settings: PolicySettings): string {
  return manifestText([
    {
      about:
        'Holds the coordinator to its own labels, annotations and taints of Nodes. Labels of pools are data: they pass\n' +
        'here on nodes that are in a pool, and the second policy looks at them.',
      object: staticFence(settings),
    },
    { about: 'For every Node.', object: binding(NAME, {}) },
    {
      about: 'Holds the coordinator, on nodes of a pool, to the labels that the NodePoolLabelSet of the pool asks for.',
      object: poolFence(settings),
    },
    {
      about: 'Every NodePoolLabelSet of this namespace counts, and of no other.',
      object: binding(POOLS_NAME, {
        paramRef: { namespace: settings.namespace, selector: {}, parameterNotFoundAction: 'Allow' },
      }),
    },
  ]);
}

function binding(policyName: string, more: object): ManifestObject {
  return {
    apiVersion: ADMISSION,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: policyName },
    spec: { policyName, validationActions: ['Deny'], ...more },
  };
}

function policy(name: string, spec: object): ManifestObject {
  return { apiVersion: ADMISSION, kind: 'ValidatingAdmissionPolicy', metadata: { name }, spec };
}

function onlyTheCoordinator({ namespace }: PolicySettings): object {
  const user = `system:serviceaccount:${namespace}:rollcall-coordinator`;
  return { name: 'only-the-coordinator', expression: `request.userInfo.username == '${user}'` };
}

/** Variables that both policies need: labels that change and are not the coordinator's own, and what it lists anew. */
function changes({ services, labelPrefixes }: PolicySettings): { name: string; expression: string }[] {
  const isOwn = '(k in variables.ownLabels || variables.ownPrefixes.exists(p, k.startsWith(p)))';
  const annotationOf = (node: string) => `${node}.metadata.?annotations[?'${MANAGED_LABELS_ANNOTATION}'].orValue('')`;
  const keysIn = (list: string) =>
    `${list}.replace('[', '').replace(']', '').replace('"', '').replace(' ', '').split(',')`;
  return [
    { name: 'ownLabels', expression: celList(services.map(({ label }) => label)) },
    { name: 'ownPrefixes', expression: celList(labelPrefixes) },
    { name: 'labels', expression: 'object.metadata.?labels.orValue({})' },
    { name: 'oldLabels', expression: 'oldObject.metadata.?labels.orValue({})' },
    {
      name: 'set',
      expression: cel(`
        variables.labels.map(k, k)
          .filter(k, variables.oldLabels[?k] != variables.labels[?k] && !${isOwn})`),
    },
    {
      name: 'removed',
      expression: cel(`
        variables.oldLabels.map(k, k)
          .filter(k, !(k in variables.labels) && !${isOwn})`),
    },
    { name: 'list', expression: annotationOf('object') },
    { name: 'oldList', expression: annotationOf('oldObject') },
    { name: 'oldListed', expression: keysIn('variables.oldList') },
    {
      // No list is so long, or so odd, that it costs anything where it stays as it is.
      name: 'listed',
      expression: cel(`
        variables.list == variables.oldList ? [] :
        ${keysIn('variables.list')}
          .filter(k, k != '' && !(k in variables.oldListed))`),
    },
  ];
}

function staticFence(settings: PolicySettings): ManifestObject {
  const { services, poolLabels, reservedDomains, annotations } = settings;
  const isOrdinary = `!(k in variables.nobodysLabels) && !${isInDomains('variables.reservedDomains')}`;
  // An apply that no longer names a label removes it where nobody else owns it.
  const ownersOf = "variables.oldFields.filter(m, m.?fieldsV1[?'f:metadata'][?'f:labels'][?('f:' + k)].hasValue())";
  const isAlone = `${ownersOf}.map(m, m.manager) == ['${FIELD_MANAGER}']`;
  const othersTaints = (node: string) =>
    `${node}.spec.?taints.orValue([]).filter(t, !(t.key in variables.ownTaints) && t.key != variables.removedTaint)`;
  return policy(NAME, {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['nodes', 'nodes/*'] }],
    },
    matchConditions: [onlyTheCoordinator(settings)],
    variables: [
      ...changes(settings),
      { name: 'oldFields', expression: 'oldObject.metadata.?managedFields.orValue([])' },
      { name: 'nobodysLabels', expression: celList([...poolLabels, MANAGED_LABELS_ANNOTATION]) },
      { name: 'reservedDomains', expression: celList(reservedDomains) },
      { name: 'isInPool', expression: `${poolOfNode('oldObject', poolLabels)} != ''` },
      {
        name: 'foreignLabels',
        expression: cel(`
          variables.set.filter(k, !(variables.isInPool && ${isOrdinary}))
          + variables.removed.filter(k, !((k in variables.oldListed || ${isAlone}) && ${isOrdinary}))`),
      },
      { name: 'ownAnnotations', expression: celList(annotations) },
      { name: 'annotations', expression: 'object.metadata.?annotations.orValue({})' },
      { name: 'oldAnnotations', expression: 'oldObject.metadata.?annotations.orValue({})' },
      {
        name: 'foreignAnnotations',
        expression: cel(`
          (variables.annotations.map(k, k).filter(k, variables.oldAnnotations[?k] != variables.annotations[?k])
          + variables.oldAnnotations.map(k, k).filter(k, !(k in variables.annotations)))
            .filter(k, !(k in variables.ownAnnotations))`),
      },
      { name: 'ownTaints', expression: celList(services.map(({ taint }) => taint)) },
      {
        // It may go, and never come.
        name: 'removedTaint',
        expression: `object.spec.?taints.orValue([]).exists(t, t.key == '${STARTUP_TAINT}') ? '' : '${STARTUP_TAINT}'`,
      },
    ],
    validations: [
      {
        expression: "request.operation == 'UPDATE' && request.?subResource.orValue('') == ''",
        message: 'rollcall may change Nodes, and neither make nor delete them, nor use what is below them',
      },
      {
        expression: 'size(variables.foreignLabels) == 0',
        messageExpression: "'rollcall may not change the labels ' + variables.foreignLabels.join(', ')",
      },
      {
        expression: 'size(variables.foreignAnnotations) == 0',
        messageExpression: "'rollcall may not change the annotations ' + variables.foreignAnnotations.join(', ')",
      },
      {
        expression: 'variables.isInPool || size(variables.listed) == 0',
        messageExpression:
          "'rollcall may not list the labels ' + variables.listed.join(', ') + ' on a node in no pool'",
      },
      {
        expression: `${othersTaints('object')}\n== ${othersTaints('oldObject')}`,
        message: 'rollcall may not change the taints of others, and only remove the one that gates new nodes',
      },
      {
        expression: SPEC_FIELDS.map((field) => `object.spec.?${field} == oldObject.spec.?${field}`).join('\n&& '),
        message: 'rollcall may not change the spec of a Node',
      },
      {
        expression: ['ownerReferences', 'finalizers']
          .map((field) => `object.metadata.?${field} == oldObject.metadata.?${field}`)
          .join('\n&& '),
        message: 'rollcall may not change owners or finalizers',
      },
      {
        expression: cel(`
          size(object.metadata.?managedFields.orValue([])) > 0
          || size(oldObject.metadata.?managedFields.orValue([])) == 0`),
        message: 'rollcall may not erase managedFields',
      },
    ],
  });
}

function poolFence(settings: PolicySettings): ManifestObject {
  return policy(POOLS_NAME, {
    failurePolicy: 'Fail',
    paramKind: POOL_LABEL_SET_PARAMS,
    matchConstraints: {
      resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] }],
    },
    matchConditions: [
      onlyTheCoordinator(settings),
      { name: 'of-this-pool', expression: `${poolOfNode('oldObject', settings.poolLabels)}\n== ${POOL_OF_PARAMS}` },
    ],
    variables: [
      ...changes(settings).filter(({ name }) => name !== 'removed'),
      { name: 'wanted', expression: 'params.?spec.?labels.orValue({})' },
      { name: 'unwanted', expression: 'variables.set.filter(k, variables.wanted[?k] != variables.labels[?k])' },
      { name: 'unwantedListed', expression: 'variables.listed.filter(k, !(k in variables.wanted))' },
    ],
    validations: [
      {
        expression: 'size(variables.unwanted) == 0',
        messageExpression: cel(`
          'NodePoolLabelSet ' + params.metadata.name + ' does not ask for the labels '
          + variables.unwanted.map(k, k + '=' + variables.labels[k]).join(', ')`),
      },
      {
        expression: 'size(variables.unwantedListed) == 0',
        messageExpression: cel(`
          'NodePoolLabelSet ' + params.metadata.name + ' does not ask for the labels to list: '
          + variables.unwantedListed.join(', ')`),
      },
    ],
  });
}
