import { FIELD_MANAGER, MANAGED_LABELS_ANNOTATION, STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { cel, celList, isInDomains, POOL_OF_PARAMS, poolOfNode } from './cel.ts';
import { type ManifestObject, manifestText } from './manifest.ts';
import { POOL_LABEL_SET_PARAMS } from './pool-label-set.ts';
import type { PolicySettings } from './settings.ts';

const NAME = 'rollcall-fence';
const POOLS_NAME = 'rollcall-fence-pools';
const ADMISSION = 'admissionregistration.k8s.io/v1';

/** Under which the API server keeps those who have changed a Node, when there are too many. */
const MERGED_MANAGERS = 'ancient-changes';
/** Of the annotation that lists the labels of pools: what costs more to read than a policy may is not written. */
const LIST_LENGTH_MAX = 131_072;

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
        paramRef: { namespace: settings.poolNamespace, selector: {}, parameterNotFoundAction: 'Allow' },
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
  const noise = ['[', ']', '"', ' ', '\\n', '\\r', '\\t'];
  const keysIn = (list: string) => `${list}${noise.map((each) => `.replace('${each}', '')`).join('')}.split(',')`;
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
      name: 'listedNow',
      expression: cel(`
        variables.list == variables.oldList ? [] :
        ${keysIn('variables.list')}.filter(k, k != '')`),
    },
    { name: 'ownedLabels', expression: ownedLabels('object') },
    { name: 'oldOwnedLabels', expression: ownedLabels('oldObject') },
  ];
}

/** What the apply of the coordinator names of labels, as managedFields have it: `f:` before each key. */
function ownedLabels(node: string): string {
  return cel(`
    ${node}.metadata.?managedFields.orValue([])
      .filter(m, m.manager == '${FIELD_MANAGER}' && m.operation == 'Apply')
      .map(m, m.?fieldsV1[?'f:metadata'][?'f:labels'].orValue({}))`);
}

/** Whether each label that the coordinator owns now, and did not own before, may be: `isFine` is about the key `k`. */
function ownsNoOtherLabels(isFine: string): string {
  const isKnown = 'variables.oldOwnedLabels.exists(o, f in o)';
  const each = `[f.substring(2)].all(k, ${isFine})`;
  return cel(`
    variables.ownedLabels.all(fields, fields.all(f, f == '.' || ${isKnown} || ${each}))`);
}

function staticFence(settings: PolicySettings): ManifestObject {
  const { services, poolLabels, reservedDomains, annotations } = settings;
  const isOrdinary = `!(k in variables.nobodysLabels) && !${isInDomains('variables.reservedDomains')}`;
  // An apply that no longer names a label removes it where nobody else owns it.
  const ownersOf = "variables.oldFields.filter(m, m.?fieldsV1[?'f:metadata'][?'f:labels'][?('f:' + k)].hasValue())";
  const isAlone = `${ownersOf}.map(m, m.manager) == ['${FIELD_MANAGER}']`;
  // An entry of another field manager goes when all that it names was changed, or when there are too many of them.
  const isChanged = (kind: string) =>
    cel(`
      m.?fieldsV1[?'f:metadata'][?'f:${kind}'].orValue({}).all(f, f == '.'
        || variables.${kind}[?f.substring(2)] != variables.${kind === 'labels' ? 'oldLabels' : 'oldAnnotations'}[?f.substring(2)])`);
  const othersTaints = (node: string) =>
    `${node}.filter(t, !(t.key in variables.ownTaints) && t.key != variables.removedTaint)`;
  return policy(NAME, {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['nodes', 'nodes/*'] }],
    },
    matchConditions: [onlyTheCoordinator(settings)],
    variables: [
      ...changes(settings),
      { name: 'listedAnew', expression: 'variables.listedNow.filter(k, !(k in variables.oldListed))' },
      { name: 'fields', expression: 'object.metadata.?managedFields.orValue([])' },
      { name: 'oldFields', expression: 'oldObject.metadata.?managedFields.orValue([])' },
      { name: 'taints', expression: 'object.spec.?taints.orValue([])' },
      { name: 'oldTaints', expression: 'oldObject.spec.?taints.orValue([])' },
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
        expression: `variables.taints.exists(t, t.key == '${STARTUP_TAINT}') ? '' : '${STARTUP_TAINT}'`,
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
        expression: 'variables.isInPool || size(variables.listedAnew) == 0',
        messageExpression:
          "'rollcall may not list the labels ' + variables.listedAnew.join(', ') + ' on a node in no pool'",
      },
      {
        expression: `variables.list == variables.oldList || size(variables.list) <= ${LIST_LENGTH_MAX}`,
        message: `rollcall may not write a list of labels of more than ${LIST_LENGTH_MAX} characters`,
      },
      {
        expression: `${othersTaints('variables.taints')}\n== ${othersTaints('variables.oldTaints')}`,
        message: 'rollcall may not change the taints of others, and only remove the one that gates new nodes',
      },
      {
        expression: cel(`
          variables.taints.all(t, !(t.key in variables.ownTaints) || variables.oldTaints.exists(o, o == t)
            || (t.effect == 'NoSchedule' && t.?value.orValue('') == 'true'))`),
        message: 'rollcall may add its taints with the value true and the effect NoSchedule only',
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
          variables.fields.exists(n, n.manager == '${MERGED_MANAGERS}')
          || variables.oldFields.all(m, m.manager == '${FIELD_MANAGER}'
            || variables.fields.exists(n,
              n.manager == m.manager && n.operation == m.operation && n.?subresource == m.?subresource)
            || (m.?fieldsV1.orValue({}).all(f, f == 'f:metadata'
                || (f == 'f:spec' && variables.taints != variables.oldTaints))
              && ${isChanged('labels')}
              && ${isChanged('annotations')}))`),
        message: 'rollcall may not erase managedFields',
      },
      {
        expression: ownsNoOtherLabels(
          `(k in variables.ownLabels || variables.ownPrefixes.exists(p, k.startsWith(p)) || (variables.isInPool && ${isOrdinary}))`,
        ),
        message: 'rollcall may not own the labels of others',
      },
    ],
  });
}

function poolFence(settings: PolicySettings): ManifestObject {
  return policy(POOLS_NAME, {
    // Where the API server cannot find what the parameters are, it would refuse everybody's every change of a Node.
    failurePolicy: 'Ignore',
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
      {
        name: 'unwantedListed',
        expression: 'variables.listedNow.filter(k, !(k in variables.wanted) && !(k in variables.oldListed))',
      },
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
      {
        expression: ownsNoOtherLabels(
          '(k in variables.ownLabels || variables.ownPrefixes.exists(p, k.startsWith(p)) || k in variables.wanted)',
        ),
        messageExpression:
          "'NodePoolLabelSet ' + params.metadata.name + ' does not ask for labels that are to be owned'",
      },
    ],
  });
}
