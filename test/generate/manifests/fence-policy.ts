import { CONDITIONS_OF_OTHERS } from '@rollcall/common/node-lifecycle.ts';
import { ALWAYS_NAMES_POOL } from '@rollcall/common/pool-labels.ts';
import { KUBERNETES_DOMAINS } from '@rollcall/common/reserved-domains.ts';
import {
  DO_NOT_DISRUPT,
  IMPLIED_LABELS_ANNOTATION,
  KEYS_ANNOTATION,
  KNOWN_TAINT_PREFIXES,
  MANAGED_LABELS_ANNOTATION,
  PREDECESSOR_FIELD_MANAGER,
  SCALE_DOWN_DISABLED,
  SCHEDULING_HINT_ANNOTATION,
  SERVICE_KEYS_ANNOTATION,
  STARTUP_TAINT,
  UNINSTALL_NAME,
} from '@rollcall/common/well-known.ts';
import { cel, celList, isForbidden, isInDomains } from './cel.ts';
import {
  FIELD_VARIABLES,
  IS_FREE_CONDITION,
  isAlone,
  OTHERS_KEEP_THEIR_FIELDS,
  ownFieldsAreOwn,
} from './fence-fields.ts';
import { type ManifestObject, manifestText } from './manifest.ts';
import { OWN_LABELS, OWN_PREFIXES, OWN_TAINTS, type PolicySettings } from './settings.ts';

const NAME = 'rollcall-fence';
/** The coordinator, and the Job that removes rollcall's keys when the release is uninstalled. */
const ACCOUNTS = ['rollcall-coordinator', UNINSTALL_NAME];
const ADMISSION = 'admissionregistration.k8s.io/v1';

/** Maximum length of each list of keys, within the cost limit of policies. */
const LIST_LENGTH_MAX = 131_072;
/** Of 262,144 characters that the API server allows for all annotations of a Node. */
const ANNOTATIONS_LENGTH_MAX = 196_608;
/** Characters of all labels of a Node, and of its conditions: far below the 1.5 MB that a Node may have. */
const TEXT_LENGTH_MAX = 131_072;
const TAINTS_MAX = 256;
/** Annotations with a value of a few characters. */
const HOLDS = [SCALE_DOWN_DISABLED, DO_NOT_DISRUPT];
const SHORT_LENGTH_MAX = 64;
const SHORT = [...HOLDS, SCHEDULING_HINT_ANNOTATION];
/** Lists that only earlier versions wrote. Their keys are taken over, whatever the prefixes are now. */
const EARLIER_LISTS = [SERVICE_KEYS_ANNOTATION, IMPLIED_LABELS_ANNOTATION];

/** Fields in `spec` of a Node besides taints. */
const SPEC_FIELDS = ['unschedulable', 'providerID', 'podCIDR', 'podCIDRs', 'configSource', 'externalID'];

/**
 * The coordinator may change what is its own on a Node, and nothing else. The policy has no parameters: the API server
 * would evaluate it once for each parameter at each write of a Node by any client, before it checks who writes.
 */
export function fencePolicies(settings: PolicySettings, name = NAME): string {
  return manifestText([
    {
      about:
        'Holds the coordinator to its own labels, annotations, taints and conditions of Nodes: it may change a key only where\n' +
        'the Node lists the key as rollcall’s, and may list no key that another client set.',
      object: fence(settings, name),
    },
    {
      about: 'For every Node.',
      object: {
        apiVersion: ADMISSION,
        kind: 'ValidatingAdmissionPolicyBinding',
        metadata: { name },
        spec: { policyName: name, validationActions: ['Deny'] },
      },
    },
  ]);
}

function fence(settings: PolicySettings, name: string): ManifestObject {
  const users = ACCOUNTS.map((account) => `system:serviceaccount:${settings.namespace}:${account}`);
  return {
    apiVersion: ADMISSION,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['nodes', 'nodes/*'] }],
      },
      matchConditions: [{ name: 'only-rollcall', expression: `request.userInfo.username in ${celList(users)}` }],
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
    { name: 'devicePrefixes', expression: celList(OWN_PREFIXES) },
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
    ...FIELD_VARIABLES,
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
        variables.labels.filter(k, variables.oldLabels[?k] != variables.labels[?k] && !(${MAY_SET}))
        + variables.oldLabels.filter(k, !(k in variables.labels) && !(${MAY_REMOVE}))`),
    },
    {
      // No list is so long, or so odd, that it costs anything where it stays as it is.
      name: 'foreignListed',
      expression: cel(`
        variables.list == variables.oldList ? [] : variables.listed.filter(k, k != '' && !(k in variables.oldListed)
          && !(k in variables.labels && ${IS_OF_POOL} && ${IS_FREE}))`),
    },
    {
      name: 'foreignAnnotations',
      expression: cel(`
        variables.annotations.filter(k, variables.oldAnnotations[?k] != variables.annotations[?k]
          && (!(k in variables.ownAnnotations) || k in ${celList(EARLIER_LISTS)}
            || (k in ${celList(HOLDS)} && variables.annotations[k] != 'true')))
        + variables.oldAnnotations.filter(k, !(k in variables.annotations)
          && !(k in variables.ownAnnotations && (!(k in ${celList(HOLDS)}) || (${isAlone('annotations', PREDECESSOR_FIELD_MANAGER)}))))`),
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
        variables.oldConditions.map(c, c.type).filter(k, !(k in ${UNTOUCHABLE})
          && !variables.conditions.exists(c, c.type == k) && ${wasListed('condition')})`),
    },
  ];
}

const UNTOUCHABLE = celList(CONDITIONS_OF_OTHERS);
// Expressions about the label `k`.
const IS_OF_SERVICE = 'variables.servicePrefixes.exists(p, k.startsWith(p))';
const IS_OF_KUBERNETES = isInDomains(celList(KUBERNETES_DOMAINS));
/** Others set such labels as well: what they set is theirs, whatever the Node lists. */
const IS_OF_DEVICE = 'variables.devicePrefixes.exists(p, k.startsWith(p))';
/** A label with a prefix for taints is not ours: kubelets may not set such labels. */
const IS_READINESS = `(${IS_OF_SERVICE} && !${IS_OF_KUBERNETES})`;
const IS_OF_RULE = `(variables.ownPrefixes.exists(p, k.startsWith(p)) && !${IS_OF_DEVICE} && !${IS_OF_KUBERNETES} && !(k in variables.poolLabels))`;
/** A pool may have set it. */
const IS_ORDINARY = `!(k in variables.namingLabels) && k != '${MANAGED_LABELS_ANNOTATION}' && !${isForbidden('variables.reservedDomains')}`;
const IS_OF_POOL = `variables.isInPool && ${IS_ORDINARY} && variables.poolPrefixes.exists(p, k.startsWith(p))`;
/** Only the coordinator owns the label. */
const IS_ALONE = `(${isAlone('labels')})`;
const IS_FREE = `(!(k in variables.oldLabels) || ${IS_ALONE})`;
const IS_LISTED = "('label:' + k) in variables.keyIds";
const IS_POOLS = `(${IS_OF_POOL} && k in variables.listed)`;
const WAS_LISTED = `(k in variables.oldListed || ${wasListed('label')})`;
/** A label of a service is there with the value true, or not there, whoever set it. */
const MAY_SET = `k in variables.ownLabels || (${IS_OF_DEVICE} && ${IS_FREE} && ${IS_LISTED})
            || (${IS_READINESS} && ${IS_LISTED} && (${WAS_LISTED} || (variables.labels[k] == 'true' && ${IS_FREE})))
            || ((${IS_POOLS} || (${IS_OF_RULE} && ${IS_LISTED})) && (${IS_FREE} || ${WAS_LISTED}))`;
const MAY_REMOVE = `k in variables.ownLabels || (${IS_READINESS} && variables.oldLabels[k] == 'true')
            || ((${IS_ORDINARY} || ${IS_OF_DEVICE}) && ${IS_ALONE}) || (${IS_ORDINARY} && !${IS_OF_DEVICE} && ${WAS_LISTED})
            || (k in variables.removedLabels && k in variables.oldListed)`;
const MAY_OWN = `k in variables.ownLabels || ${IS_READINESS} || ${IS_OF_DEVICE} || ${IS_POOLS} || (${IS_OF_RULE} && ${IS_LISTED})`;
/** Whether the label, taint or condition `k` may come onto the list of the Node. */
const MAY_LIST = {
  label: `k in variables.oldListed || k in variables.ownLabels || (k in variables.labels
              && (${IS_OF_DEVICE} || (${IS_READINESS} && (${IS_FREE} || variables.oldLabels[k] == 'true')) || (${IS_OF_RULE} && ${IS_FREE}) || ${IS_POOLS}))`,
  taint: `variables.taints.exists(t, t.key == k) && (k in variables.ownTaints || (k != '${STARTUP_TAINT}' && ${IS_OF_SERVICE}))`,
  condition: `!(k in ${UNTOUCHABLE}) && variables.conditionPrefixes.exists(p, k.startsWith(p)) && ${IS_FREE_CONDITION}`,
};

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

/** Whether the taint `t` is a taint of a service. The startup taint has such a prefix too, but may only be removed. */
const IS_TAINT_OF_SERVICE = `t.key != '${STARTUP_TAINT}' && variables.servicePrefixes.exists(p, t.key.startsWith(p))`;

const othersTaints = (node: string) =>
  `${node}.filter(t, !(t.key in variables.ownTaints) && !(t.key in variables.removedTaints) && !(${IS_TAINT_OF_SERVICE}))`;

const othersConditions = (conditions: string) =>
  `${conditions}.filter(c, !(c.type in variables.removedConditions) && (c.type in ${UNTOUCHABLE} || !variables.conditionPrefixes.exists(p, c.type.startsWith(p))))`;

/** That two maps do not differ but for one field. */
const isSameBut = (field: string, one: string, other: string) =>
  `${one}.all(f, f == '${field}' || ${one}[f] == ${other}[?f].orValue(null)) && ${other}.all(f, f == '${field}' || f in ${one})`;

/** Characters of the annotations that are rollcall's. */
const lengthOf = (annotations: string) =>
  `variables.ownAnnotations.map(k, size(variables.${annotations}[?k].orValue(''))).sum()`;

/** Characters of all conditions. */
const lengthOfConditions = (conditions: string) =>
  `variables.${conditions}.map(c, size(c.type) + size(c.?reason.orValue('')) + size(c.?message.orValue(''))).sum()`;

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
      || (${othersConditions('variables.conditions')} == ${othersConditions('variables.oldConditions')}
        && variables.conditions.all(c, variables.oldConditions.exists(o, o == c) || [c.type].all(k,
          ('condition:' + k) in variables.oldKeyIds && ${IS_FREE_CONDITION}))
        && variables.oldConditions.all(c, variables.conditions.exists(o, o.type == c.type)
          || c.type in variables.removedConditions || [c.type].all(k, ${IS_FREE_CONDITION}))
        && [${lengthOfConditions('conditions')}].all(n, n <= ${TEXT_LENGTH_MAX} || n <= ${lengthOfConditions('oldConditions')}))`),
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
      variables.annotations == variables.oldAnnotations
      || (variables.ownAnnotations.filter(k, k in ${celList(SHORT)}).all(k, size(variables.annotations[?k].orValue('')) <= ${SHORT_LENGTH_MAX}
            || variables.annotations[?k] == variables.oldAnnotations[?k])
        && [${lengthOf('annotations')}].all(n, n <= ${ANNOTATIONS_LENGTH_MAX} || n <= ${lengthOf('oldAnnotations')}))`),
    message: `rollcall may not let its annotations grow beyond ${ANNOTATIONS_LENGTH_MAX} characters, and single ones beyond ${SHORT_LENGTH_MAX}`,
  },
  {
    expression: cel(`
      variables.labels == variables.oldLabels
      || [variables.labels.map(k, size(k) + size(variables.labels[k])).sum()].all(n, n <= ${TEXT_LENGTH_MAX}
        || n <= variables.oldLabels.map(k, size(k) + size(variables.oldLabels[k])).sum())`),
    message: `rollcall may not let the labels of a Node grow beyond ${TEXT_LENGTH_MAX} characters`,
  },
  {
    expression: cel(`
      variables.keyList == variables.oldKeyList
      || variables.keyIds.filter(id, !(id in variables.oldKeyIds)).all(id, [id.substring(id.indexOf(':') + 1)].all(k,
          k in variables.earlierKeys || (id.startsWith('label:')
            ? ${MAY_LIST.label}
            : id.startsWith('taint:') ? ${MAY_LIST.taint}
            : ${MAY_LIST.condition})))`),
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
      variables.taints.all(t, variables.oldTaints.exists(o, o == t) || ('taint:' + t.key) in variables.keyIds)
      && (size(variables.taints) <= ${TAINTS_MAX} || size(variables.taints) <= size(variables.oldTaints))`),
    message: `rollcall may only add taints that it lists, and not more than ${TAINTS_MAX} to a Node`,
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
    expression: OTHERS_KEEP_THEIR_FIELDS,
    message: 'rollcall may not change what other field managers own',
  },
  {
    expression: ownFieldsAreOwn(MAY_OWN),
    message: 'rollcall may not own the fields of others',
  },
];
