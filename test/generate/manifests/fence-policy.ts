import { ALWAYS_NAMES_POOL } from '@rollcall/common/pool-labels.ts';
import {
  FIELD_MANAGER,
  IMPLIED_LABELS_ANNOTATION,
  KEYS_ANNOTATION,
  KNOWN_TAINT_PREFIXES,
  KUBELET_CONDITIONS,
  MANAGED_LABELS_ANNOTATION,
  SERVICE_KEYS_ANNOTATION,
  STARTUP_TAINT,
} from '@rollcall/common/well-known.ts';
import { cel, celList, isForbidden, isInDomains } from './cel.ts';
import { type ManifestObject, manifestText } from './manifest.ts';
import { OWN_LABELS, OWN_TAINTS, type PolicySettings } from './settings.ts';

const NAME = 'rollcall-fence';
const ADMISSION = 'admissionregistration.k8s.io/v1';

/** Under which the API server keeps those who have changed a Node, when there are too many. */
const MERGED_MANAGERS = 'ancient-changes';
/** Maximum length of the annotation that lists the labels of pools, within the cost limit of policies. */
const LIST_LENGTH_MAX = 131_072;
/** Lists that only earlier versions wrote. Their keys are taken over, whatever the prefixes are now. */
const EARLIER_LISTS = [SERVICE_KEYS_ANNOTATION, IMPLIED_LABELS_ANNOTATION];

/** Fields in `spec` of a Node besides taints. */
const SPEC_FIELDS = ['unschedulable', 'providerID', 'podCIDR', 'podCIDRs', 'configSource', 'externalID'];

/**
 * The coordinator may change what is its own on a Node, and nothing else. The policy has no parameters: the API server
 * would evaluate it once for each parameter at each write of a Node by any client, before it checks who writes.
 */
export function fencePolicies(settings: PolicySettings): string {
  return manifestText([
    {
      about:
        'Holds the coordinator to its own labels, annotations, taints and conditions of Nodes. Labels of pools are data:\n' +
        'on nodes that are in a pool it may set those that it lists in the same request, if no other field manager owns them.',
      object: fence(settings),
    },
    {
      about: 'For every Node.',
      object: {
        apiVersion: ADMISSION,
        kind: 'ValidatingAdmissionPolicyBinding',
        metadata: { name: NAME },
        spec: { policyName: NAME, validationActions: ['Deny'] },
      },
    },
  ]);
}

function fence(settings: PolicySettings): ManifestObject {
  const user = `system:serviceaccount:${settings.namespace}:rollcall-coordinator`;
  return {
    apiVersion: ADMISSION,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: NAME },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['nodes', 'nodes/*'] }],
      },
      matchConditions: [{ name: 'only-the-coordinator', expression: `request.userInfo.username == '${user}'` }],
      variables: variables(settings),
      validations: VALIDATIONS,
    },
  };
}

/** They are computed when a validation asks for them, and once. */
function variables(settings: PolicySettings): { name: string; expression: string }[] {
  const { services, labelPrefixes, servicePrefixes, poolLabels, poolPrefixes, annotations } = settings;
  return [
    { name: 'ownLabels', expression: celList([...services.map(({ label }) => label), ...OWN_LABELS]) },
    { name: 'ownPrefixes', expression: celList(labelPrefixes) },
    { name: 'servicePrefixes', expression: celList(servicePrefixes) },
    { name: 'mayEvict', expression: settings.allowNoExecute },
    { name: 'ownAnnotations', expression: celList(annotations) },
    { name: 'ownTaints', expression: celList([...services.map(({ taint }) => taint), ...OWN_TAINTS]) },
    { name: 'poolLabels', expression: celList(poolLabels) },
    { name: 'poolPrefixes', expression: celList(poolPrefixes) },
    { name: 'reservedDomains', expression: celList(settings.reservedDomains) },
    { name: 'removedLabels', expression: celList(settings.removedLabels) },
    { name: 'labels', expression: 'object.metadata.?labels.orValue({})' },
    { name: 'oldLabels', expression: 'oldObject.metadata.?labels.orValue({})' },
    { name: 'annotations', expression: 'object.metadata.?annotations.orValue({})' },
    { name: 'oldAnnotations', expression: 'oldObject.metadata.?annotations.orValue({})' },
    { name: 'fields', expression: 'object.metadata.?managedFields.orValue([])' },
    { name: 'oldFields', expression: 'oldObject.metadata.?managedFields.orValue([])' },
    { name: 'taints', expression: 'object.spec.?taints.orValue([])' },
    { name: 'oldTaints', expression: 'oldObject.spec.?taints.orValue([])' },
    { name: 'isInPool', expression: "variables.poolLabels.exists(k, variables.oldLabels[?k].orValue('') != '')" },
    {
      // A later label than the one that names the pool of the Node is as any other.
      name: 'namingLabels',
      expression: cel(`
        variables.poolLabels.filter(k, variables.poolLabels.indexOf(k) < ${ALWAYS_NAMES_POOL}
          || !variables.poolLabels.exists(p, variables.oldLabels[?p].orValue('') != ''
            && variables.poolLabels.indexOf(p) < variables.poolLabels.indexOf(k)))`),
    },
    { name: 'list', expression: `variables.annotations[?'${MANAGED_LABELS_ANNOTATION}'].orValue('')` },
    { name: 'oldList', expression: `variables.oldAnnotations[?'${MANAGED_LABELS_ANNOTATION}'].orValue('')` },
    { name: 'keyList', expression: `variables.annotations[?'${KEYS_ANNOTATION}'].orValue('')` },
    { name: 'oldKeyList', expression: `variables.oldAnnotations[?'${KEYS_ANNOTATION}'].orValue('')` },
    { name: 'keyIds', expression: idsIn('variables.keyList') },
    { name: 'oldKeyIds', expression: idsIn('variables.oldKeyList') },
    {
      name: 'earlierKeys',
      expression: EARLIER_LISTS.map((key) => `variables.oldAnnotations[?'${key}'].orValue('').split('"')`).join(' + '),
    },
    { name: 'listed', expression: keysIn('variables.list') },
    { name: 'oldListed', expression: keysIn('variables.oldList') },
    {
      name: 'foreignLabels',
      expression: cel(`
        variables.labels.filter(k, variables.oldLabels[?k] != variables.labels[?k]
          && !(${IS_OWN}) && !(${IS_OF_POOL} && k in variables.listed))
        + variables.oldLabels.filter(k, !(k in variables.labels)
          && !(${IS_OWN}) && !(k in variables.removedLabels && k in variables.oldListed)
          && !(${IS_ORDINARY} && (k in variables.oldListed || ${wasListed('label')} || ${IS_ALONE})))`),
    },
    {
      // No list is so long, or so odd, that it costs anything where it stays as it is.
      name: 'foreignListed',
      expression: cel(`
        variables.list == variables.oldList ? [] : variables.listed.filter(k, k != '' && !(k in variables.oldListed)
          && !(k in variables.labels && ${IS_OF_POOL} && (!(k in variables.oldLabels) || ${IS_ALONE})))`),
    },
    {
      name: 'foreignAnnotations',
      expression: cel(`
        variables.annotations.filter(k, variables.oldAnnotations[?k] != variables.annotations[?k]
          && (!(k in variables.ownAnnotations) || k in ${celList(EARLIER_LISTS)}))
        + variables.oldAnnotations.filter(k, !(k in variables.annotations) && !(k in variables.ownAnnotations))`),
    },
    {
      // They may go, and never come: a service may be none any more, and the fence no longer know its keys.
      name: 'removedTaints',
      expression: cel(`
        variables.oldTaints.map(t, t.key).filter(k, !variables.taints.exists(t, t.key == k) && (k == '${STARTUP_TAINT}'
          || (${wasListed('taint')} && (!${isInDomains('variables.reservedDomains')}
            || ${celList(KNOWN_TAINT_PREFIXES)}.exists(p, k.startsWith(p))))))`),
    },
    { name: 'isStatus', expression: "request.?subResource.orValue('') == 'status'" },
    { name: 'mayChangeConditions', expression: settings.conditions },
    { name: 'conditions', expression: 'object.?status.?conditions.orValue([])' },
    { name: 'oldConditions', expression: 'oldObject.?status.?conditions.orValue([])' },
    {
      name: 'conditionPrefixes',
      expression: `variables.servicePrefixes.filter(p, !(p in ${celList(KNOWN_TAINT_PREFIXES)}))`,
    },
    {
      // Conditions are handled like taints.
      name: 'removedConditions',
      expression: cel(`
        variables.oldConditions.map(c, c.type).filter(k, !(k in ${KUBELETS})
          && !variables.conditions.exists(c, c.type == k) && ${wasListed('condition')})`),
    },
    { name: 'ownedLabels', expression: ownedLabels('variables.fields') },
    { name: 'oldOwnedLabels', expression: ownedLabels('variables.oldFields') },
  ];
}

const KUBELETS = celList(KUBELET_CONDITIONS);
// Expressions about the label `k`.
const IS_OF_SERVICE = 'variables.servicePrefixes.exists(p, k.startsWith(p))';
// A label with a prefix for taints is not ours: kubelets may not set such labels.
const IS_OWN = `k in variables.ownLabels || variables.ownPrefixes.exists(p, k.startsWith(p)) || (${IS_OF_SERVICE} && !${isInDomains("['k8s.io', 'kubernetes.io']")})`;
/** A pool may have set it. */
const IS_ORDINARY = `!(k in variables.namingLabels) && k != '${MANAGED_LABELS_ANNOTATION}' && !${isForbidden('variables.reservedDomains')}`;
const IS_OF_POOL = `variables.isInPool && ${IS_ORDINARY} && variables.poolPrefixes.exists(p, k.startsWith(p))`;
/** Only the coordinator applied the label. */
const IS_ALONE = `variables.oldFields.filter(m, m.?fieldsV1[?'f:metadata'][?'f:labels'][?('f:' + k)].hasValue()).map(m, m.manager) == ['${FIELD_MANAGER}']`;

/** The keys in the text of a list, and the empty string where there are none. */
function keysIn(list: string): string {
  const noise = ['[', ']', '"', ' ', '\\n', '\\r', '\\t'];
  return `${list}${noise.map((each) => `.replace('${each}', '')`).join('')}.split(',')`;
}

/** The ids, `kind:key`, in the text of the list of keys with their origins. No key has a quotation mark in it. */
function idsIn(list: string): string {
  return `${list}.split('"').filter(id, ['label:', 'taint:', 'condition:'].exists(p, id.startsWith(p)))`;
}

/** Whether the Node listed the key `k` of this kind as set by rollcall. */
function wasListed(kind: 'label' | 'taint' | 'condition'): string {
  return `(('${kind}:' + k) in variables.oldKeyIds || k in variables.earlierKeys)`;
}

/** Labels that the coordinator applied, as in managedFields: `f:` before each key. */
function ownedLabels(fields: string): string {
  return cel(`
    ${fields}.filter(m, m.manager == '${FIELD_MANAGER}' && m.operation == 'Apply')
      .map(m, m.?fieldsV1[?'f:metadata'][?'f:labels'].orValue({}))`);
}

// An entry of another field manager goes when all that it names was changed, or when there are too many of them.
const isChanged = (kind: string, old: string) =>
  `m.?fieldsV1[?'f:metadata'][?'f:${kind}'].orValue({}).all(f, f == '.' || variables.${kind}[?f.substring(2)] != variables.${old}[?f.substring(2)])`;

/** It owned nothing of the status but of conditions that are gone, or are of services. */
const HAS_NO_STATUS = `m.fieldsV1['f:status'].all(g, g == 'f:conditions') && m.fieldsV1['f:status']['f:conditions'].all(k, k == '.' || variables.conditionPrefixes.exists(p, k.startsWith('k:{"type":"' + p)) || !variables.conditions.exists(c, k == 'k:{"type":"' + c.type + '"}'))`;

/** Whether the taint `t` is a taint of a service. The startup taint has such a prefix too, but may only be removed. */
const IS_TAINT_OF_SERVICE = `t.key != '${STARTUP_TAINT}' && variables.servicePrefixes.exists(p, t.key.startsWith(p))`;

const othersTaints = (node: string) =>
  `${node}.filter(t, !(t.key in variables.ownTaints) && !(t.key in variables.removedTaints) && !(${IS_TAINT_OF_SERVICE}))`;

const othersConditions = (conditions: string) =>
  `${conditions}.filter(c, !(c.type in variables.removedConditions) && (c.type in ${KUBELETS} || !variables.conditionPrefixes.exists(p, c.type.startsWith(p))))`;

/** That two maps do not differ but for one field. */
const isSameBut = (field: string, one: string, other: string) =>
  `${one}.all(f, f == '${field}' || ${one}[f] == ${other}[?f].orValue(null)) && ${other}.all(f, f == '${field}' || f in ${one})`;

const VALIDATIONS = [
  {
    expression: "request.operation == 'UPDATE' && (request.?subResource.orValue('') == '' || variables.isStatus)",
    message: 'rollcall may change Nodes, and neither make nor delete them, nor use what is below them',
  },
  {
    // Also compares all other fields, including fields of later versions of Kubernetes.
    expression: cel(`
      !variables.isStatus || (variables.mayChangeConditions
        && ${isSameBut('conditions', 'object.status', 'oldObject.status')}
        && ${isSameBut('managedFields', 'object.metadata', 'oldObject.metadata')})`),
    message: 'rollcall may change nothing but conditions of the status of a Node',
  },
  {
    expression: cel(`
      !variables.isStatus
      || ${othersConditions('variables.conditions')} == ${othersConditions('variables.oldConditions')}`),
    message:
      'rollcall may not change the conditions of others, and may only remove conditions that are listed for a service',
  },
  {
    expression: 'size(variables.foreignLabels) == 0',
    messageExpression: "'rollcall may not change the labels ' + variables.foreignLabels.join(', ')",
  },
  {
    expression: 'size(variables.foreignListed) == 0',
    messageExpression: "'rollcall may not list the labels ' + variables.foreignListed.join(', ')",
  },
  {
    expression: 'size(variables.foreignAnnotations) == 0',
    messageExpression: "'rollcall may not change the annotations ' + variables.foreignAnnotations.join(', ')",
  },
  {
    expression: cel(`
      (variables.list == variables.oldList || size(variables.list) <= ${LIST_LENGTH_MAX})
      && (variables.keyList == variables.oldKeyList || size(variables.keyList) <= ${LIST_LENGTH_MAX})`),
    message: `rollcall may not write a list of keys of more than ${LIST_LENGTH_MAX} characters`,
  },
  {
    expression: cel(`
      variables.keyList == variables.oldKeyList
      || variables.keyIds.filter(id, !(id in variables.oldKeyIds)).all(id, [id.substring(id.indexOf(':') + 1)].all(k,
          k in variables.earlierKeys || (id.startsWith('label:')
            ? k in variables.oldListed || ${IS_OWN} || (${IS_OF_POOL} && k in variables.listed)
            : k in variables.ownTaints || (k != '${STARTUP_TAINT}' && ${IS_OF_SERVICE}))))`),
    message: 'rollcall may not list the keys of others as its own',
  },
  {
    expression: cel(`
      variables.taints == variables.oldTaints
      || ${othersTaints('variables.taints')} == ${othersTaints('variables.oldTaints')}`),
    message:
      'rollcall may not change the taints of others, and may only remove the startup taint and taints that are listed for a service',
  },
  {
    expression: cel(`
      variables.taints.all(t, !(t.key in variables.ownTaints) || variables.oldTaints.exists(o, o == t)
        || (t.effect == 'NoSchedule' && t.?value.orValue('') == 'true'))`),
    message: 'rollcall may add its taints with the value true and the effect NoSchedule only',
  },
  {
    expression: cel(`
      variables.taints.all(t, t.effect != 'NoExecute' || variables.oldTaints.exists(o, o == t)
        || (variables.mayEvict && ${IS_TAINT_OF_SERVICE}))`),
    message: 'rollcall may not add a taint that evicts pods',
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
      variables.oldFields.all(m, m.manager == '${FIELD_MANAGER}'
        || variables.fields.exists(n,
          n.manager == m.manager && n.operation == m.operation && n.?subresource == m.?subresource)
        || variables.fields.exists(n, n.manager == '${MERGED_MANAGERS}')
        || (m.?fieldsV1.orValue({}).all(f, f == 'f:metadata'
            || (f == 'f:spec' && variables.taints != variables.oldTaints)
            || (f == 'f:status' && variables.isStatus && ${HAS_NO_STATUS}))
          && ${isChanged('labels', 'oldLabels')}
          && ${isChanged('annotations', 'oldAnnotations')}))`),
    message: 'rollcall may not erase managedFields',
  },
  {
    expression: cel(`
      variables.ownedLabels.all(fields, fields.all(f, f == '.' || variables.oldOwnedLabels.exists(o, f in o)
        || [f.substring(2)].all(k, ${IS_OWN} || (${IS_OF_POOL} && k in variables.listed))))`),
    message: 'rollcall may not own the labels of others',
  },
];
