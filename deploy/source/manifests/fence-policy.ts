import { CONDITIONS_OF_OTHERS } from '@rollcall/common/node-lifecycle.ts';
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
} from '@rollcall/common/well-known.ts';
import { LEASE_LABELS } from '@rollcall/coordinator/term/lease-record.ts';
import { ACCOUNT_NAMES, GRANTS, type Grant, LEASE_NAME, placeOf } from './accounts.ts';
import { cel, celList, isForbidden, isInDomains } from './cel.ts';
import {
  FIELD_VARIABLES,
  IS_FREE_CONDITION,
  isAlone,
  isUnowned,
  OTHERS_KEEP_THEIR_FIELDS,
  ownFieldsAreOwn,
} from './fence-fields.ts';
import { IDS_MAX, idsIn, keysIn, wasListed } from './fence-lists.ts';
import { type ManifestObject, manifestText } from './manifest.ts';
import { OWN_LABELS, OWN_PREFIXES, OWN_TAINTS, type PolicySettings } from './settings.ts';

const NAME = 'rollcall-fence';
const ADMISSION = 'admissionregistration.k8s.io/v1';

/** Maximum length of each list of keys, within the cost limit of policies. */
const LIST_LENGTH_MAX = 147_456;
/** Of 262,144 characters that the API server allows for all annotations of a Node. */
const ANNOTATIONS_LENGTH_MAX = 196_608;
/** Characters of all labels of a Node, and of its conditions: far below the 1.5 MB that a Node may have. */
const TEXT_LENGTH_MAX = 131_072;
/** A label is at most 380 characters: a prefix of 253, a slash, and a name and a value of 63. */
const LABELS_SURE_TO_FIT = Math.floor(TEXT_LENGTH_MAX / 380);
const TAINTS_MAX = 256;
/** Characters of one value in the other objects: of a certificate and of all else. */
const DATA_LENGTH_MAX = 32_768;
const VALUE_LENGTH_MAX = 4096;
/** Annotations with a value of a few characters. */
const HOLDS = [SCALE_DOWN_DISABLED, DO_NOT_DISRUPT];
const SHORT_LENGTH_MAX = 64;
const SHORT = [...HOLDS, SCHEDULING_HINT_ANNOTATION];
/** Lists that only earlier versions wrote. Their keys are taken over, whatever the prefixes are now. */
const EARLIER_LISTS = [SERVICE_KEYS_ANNOTATION, IMPLIED_LABELS_ANNOTATION];

/**
 * The accounts may change what is their own on Nodes and in the objects that `accounts.ts` describes, and nothing else.
 * The policy has no parameters: the API server would evaluate it once for each parameter at each write of a Node by any
 * client, before it checks who writes.
 */
export function fencePolicies(settings: PolicySettings, name = NAME): string {
  return manifestText([
    {
      about:
        'Holds the coordinator to its own labels, annotations, taints and conditions of Nodes: it may change a key only where\n' +
        'the Node lists the key as rollcall’s, and may list no key that another client set. Of its Secret, ConfigMap and Lease\n' +
        'it may change the content, and of the objects of its kinds the status.',
      object: fence(settings, name),
    },
    {
      about: 'For every Node, and the other objects in the namespaces of the policy.',
      object: {
        apiVersion: ADMISSION,
        kind: 'ValidatingAdmissionPolicyBinding',
        metadata: { name },
        spec: { policyName: name, validationActions: ['Deny'] },
      },
    },
  ]);
}

/** Kinds of which the accounts write objects besides Nodes. */
const WRITTEN = GRANTS.filter(({ changes }) => changes !== undefined);
const GROUPS = [...new Set(WRITTEN.map(({ group }) => group))];

function fence(settings: PolicySettings, name: string): ManifestObject {
  const { namespace, poolNamespace } = settings;
  const users = Object.values(ACCOUNT_NAMES).map((account) => `system:serviceaccount:${namespace}:${account}`);
  const rule = (group: string, resources: readonly string[]) => ({
    apiGroups: [group],
    apiVersions: ['*'],
    operations: ['*'],
    resources: [...resources],
  });
  const resourcesOf = (group: string) => [
    ...new Set(
      WRITTEN.filter((grant) => grant.group === group).map(({ resource, subresource }) =>
        subresource === undefined ? resource : '*/*',
      ),
    ),
  ];
  return {
    apiVersion: ADMISSION,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        // Nodes are in no namespace, and always match.
        namespaceSelector: {
          matchExpressions: [
            { key: 'kubernetes.io/metadata.name', operator: 'In', values: [namespace, poolNamespace] },
          ],
        },
        resourceRules: [
          rule('', ['nodes', 'nodes/*', ...resourcesOf('')]),
          ...GROUPS.filter((group) => group !== '').map((group) => rule(group, resourcesOf(group))),
        ],
      },
      matchConditions: [{ name: 'only-rollcall', expression: `request.userInfo.username in ${celList(users)}` }],
      variables: variables(settings),
      validations: VALIDATIONS,
    },
  };
}

function celMap(map: Readonly<Record<string, string>>): string {
  return `{${Object.entries(map)
    .map(([key, value]) => `'${key}': '${value}'`)
    .join(', ')}}`;
}

/** What writes may change of each object: the field, and the keys in it and in the annotations. */
function changesOf(leaseName: string): string {
  const entries = WRITTEN.map((grant) => {
    const { field = '', keys = [], annotations = [] } = grant.changes ?? {};
    return `'${placeOf({ ...grant, ...nameOf(grant, leaseName) })}': ${celList([field, ...keys, ...annotations])}`;
  });
  return `{${entries.join(', ')}}`;
}

function nameOf({ name }: Grant, leaseName: string): { name?: string } {
  return name === LEASE_NAME ? { name: leaseName } : {};
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
    { name: 'identity', expression: celList(settings.identityLabels) },
    { name: 'poolPrefixes', expression: celList(poolPrefixes) },
    { name: 'reservedDomains', expression: celList(settings.reservedDomains) },
    { name: 'removedLabels', expression: celList(settings.removedLabels) },
    { name: 'isNode', expression: "request.resource.resource == 'nodes'" },
    { name: 'isStatus', expression: "request.?subResource.orValue('') == 'status'" },
    {
      name: 'may',
      expression: `${changesOf(settings.leaseName)}[?(request.resource.resource + '/' + (variables.isStatus ? 'status' : request.name))].orValue([])`,
    },
    { name: 'before', expression: "request.operation == 'CREATE' ? dyn({'metadata': dyn({})}) : dyn(oldObject)" },
    // What is asked of a Node holds for one without anything.
    { name: 'node', expression: `variables.isNode ? dyn(object) : dyn(${NO_NODE})` },
    { name: 'oldNode', expression: `variables.isNode ? dyn(oldObject) : dyn(${NO_NODE})` },
    { name: 'labels', expression: 'variables.node.metadata.?labels.orValue({})' },
    { name: 'oldLabels', expression: 'variables.oldNode.metadata.?labels.orValue({})' },
    { name: 'annotations', expression: 'variables.node.metadata.?annotations.orValue({})' },
    { name: 'oldAnnotations', expression: 'variables.oldNode.metadata.?annotations.orValue({})' },
    ...FIELD_VARIABLES,
    { name: 'taints', expression: 'variables.node.spec.?taints.orValue([])' },
    { name: 'oldTaints', expression: 'variables.oldNode.spec.?taints.orValue([])' },
    { name: 'isInPool', expression: "variables.poolLabels.exists(k, variables.oldLabels[?k].orValue('') != '')" },
    { name: 'list', expression: `variables.annotations[?'${MANAGED_LABELS_ANNOTATION}'].orValue('')` },
    { name: 'oldList', expression: `variables.oldAnnotations[?'${MANAGED_LABELS_ANNOTATION}'].orValue('')` },
    { name: 'keyList', expression: `variables.annotations[?'${KEYS_ANNOTATION}'].orValue('')` },
    { name: 'oldKeyList', expression: `variables.oldAnnotations[?'${KEYS_ANNOTATION}'].orValue('')` },
    { name: 'keyIds', expression: idsIn('variables.keyList') },
    { name: 'oldKeyIds', expression: idsIn('variables.oldKeyList') },
    {
      name: 'newIds',
      expression:
        'variables.keyList == variables.oldKeyList ? [] : variables.keyIds.filter(id, !(id in variables.oldKeyIds))',
    },
    {
      name: 'earlierKeys',
      expression: EARLIER_LISTS.map((key) => `variables.oldAnnotations[?'${key}'].orValue('').split('"')`).join(' + '),
    },
    { name: 'listed', expression: keysIn('variables.list') },
    { name: 'oldListed', expression: keysIn('variables.oldList') },
    {
      // No list is so long, or so odd, that it costs anything where it stays as it is.
      name: 'newListed',
      expression:
        "variables.list == variables.oldList ? [] : variables.listed.filter(k, k != '' && !(k in variables.oldListed))",
    },
    {
      // Of others nothing is asked. What is known here, labels of services above all, may come and go.
      name: 'changed',
      expression: cel(`
        variables.labels == variables.oldLabels ? []
        : variables.labels.filter(k, variables.oldLabels[?k] != variables.labels[?k] && !(k in variables.ownLabels))
          + variables.oldLabels.filter(k, !(k in variables.labels) && !(k in variables.ownLabels))`),
    },
    {
      name: 'newLabelIds',
      expression: `variables.newIds.filter(id, id.startsWith('"label:')).map(id, id.substring(7))`,
    },
    {
      // Each of the lists below, of those labels of which it is true, is computed when a validation asks for it.
      name: 'touched',
      expression:
        'variables.changed + (variables.newLabelIds + variables.newListed).filter(k, !(k in variables.changed))',
    },
    ...Object.entries(TRUE_OF_LABELS).map(([name, holds]) => ({
      name,
      expression: `variables.touched.filter(k, ${holds})`,
    })),
    {
      name: 'foreignLabels',
      expression: cel(`
        variables.changed.filter(k, !(k in variables.labels
          ? ${MAY_SET}
          : ${MAY_REMOVE}))`),
    },
    {
      name: 'foreignListed',
      expression: `variables.newListed.filter(k, !(k in variables.labels && ${IS_POOL_LABEL} && ${IS_FREE}))`,
    },
    {
      name: 'foreignAnnotations',
      expression: cel(`
        variables.annotations == variables.oldAnnotations ? [] : variables.annotations.filter(k, variables.oldAnnotations[?k] != variables.annotations[?k]
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
    { name: 'mayChangeConditions', expression: settings.conditions },
    { name: 'conditions', expression: 'object.?status.?conditions.orValue([])' },
    { name: 'oldConditions', expression: 'variables.before.?status.?conditions.orValue([])' },
    {
      name: 'conditionPrefixes',
      expression: `variables.servicePrefixes.filter(p, !(p in ${celList(KNOWN_TAINT_PREFIXES)}))`,
    },
    { name: 'untouchable', expression: celList(CONDITIONS_OF_OTHERS) },
    {
      // Conditions are handled like taints.
      name: 'removedConditions',
      expression: cel(`
        variables.oldConditions.map(c, c.type).filter(k, !(k in variables.untouchable)
          && !variables.conditions.exists(c, c.type == k) && ${wasListed('condition')})`),
    },
  ];
}

/** Labels with which the coordinator makes its Lease. */
const CEL_LEASE_LABELS = celMap(LEASE_LABELS);
const NO_NODE = "{'metadata': dyn({}), 'spec': dyn({}), 'status': dyn({})}";

// Expressions about the label `k`.
const startsIn = (prefixes: string) => `variables.${prefixes}.exists(p, k.startsWith(p))`;
const IS_OWN = 'k in variables.ownLabels';
const IS_DEVICE = startsIn('devicePrefixes');
const IS_RESERVED = `(k in variables.identity || ${isInDomains(celList(KUBERNETES_DOMAINS))})`;
const IS_ORDINARY = `!(k in variables.identity) && k != '${MANAGED_LABELS_ANNOTATION}' && !${isForbidden('variables.reservedDomains')}`;
const IS_OF_POOL = `variables.isInPool && ${startsIn('poolPrefixes')}`;
const IS_LISTED = `('"label:' + k) in variables.keyIds`;
const WAS_TRUE = "variables.oldLabels[?k].orValue('') == 'true'";

/**
 * Lists of labels by name, and what is true of a label in it. To look into a list costs its length: so they hold what is
 * rare where many labels of a pool are set.
 */
const TRUE_OF_LABELS = {
  devices: IS_DEVICE,
  reserved: IS_RESERVED,
  // A label with a prefix for taints is not ours: kubelets may not set such labels.
  readiness: `${startsIn('servicePrefixes')} && !(k in variables.reserved)`,
  // Others set labels of devices as well: what they set is theirs, whatever the Node lists.
  ofRule: `${startsIn('ownPrefixes')} && !(k in variables.devices) && !(k in variables.reserved)`,
  special: `!(${IS_ORDINARY})`,
  notOfPool: `!(k in variables.listed && ${IS_OF_POOL}) || k in variables.special`,
  taken: `k in variables.oldLabels && !(${isAlone('labels')})`,
  unowned: isUnowned('labels'),
  wereListed: `k in variables.oldListed || ${wasListed('label')}`,
};
const IS_POOL_LABEL = '!(k in variables.notOfPool)';
const IS_FREE = '!(k in variables.taken)';
/** A label of a service is there with the value true, or not there, whoever set it. */
const MAY_SET = `(k in variables.devices && ${IS_FREE} && ${IS_LISTED})
            || (k in variables.readiness && ${IS_LISTED} && variables.labels[k] == 'true' && (k in variables.wereListed || ${IS_FREE}))
            || ((${IS_POOL_LABEL} || (k in variables.ofRule && ${IS_LISTED})) && (${IS_FREE} || k in variables.wereListed))`;
const MAY_REMOVE = `(k in variables.readiness && ${WAS_TRUE})
            || (k in variables.devices ? ${IS_FREE} || (k in variables.wereListed && k in variables.unowned) : !(k in variables.special) && (${IS_FREE} || k in variables.wereListed))
            || (k in variables.removedLabels && k in variables.oldListed)`;
const MAY_LIST = `${IS_OWN} || k in variables.wereListed || (k in variables.labels
        && ((k in variables.devices && (${IS_FREE} || !(k in variables.unowned))) || (k in variables.readiness && (${IS_FREE} || ${WAS_TRUE})) || (k in variables.ofRule && ${IS_FREE}) || ${IS_POOL_LABEL}))`;
/** Also of labels that the request does not touch. */
const MAY_OWN = `${IS_OWN}
                  || (${IS_LISTED} && (${IS_DEVICE} || ((${startsIn('servicePrefixes')} || ${startsIn('ownPrefixes')}) && !${IS_RESERVED})))
                  || (k in variables.listed && ${IS_OF_POOL} && ${IS_ORDINARY})`;

/** Whether the taint `t` is a taint of a service. The startup taint has such a prefix too, but may only be removed. */
const IS_TAINT_OF_SERVICE = `t.key != '${STARTUP_TAINT}' && variables.servicePrefixes.exists(p, t.key.startsWith(p))`;
/** Whether the condition of the type `k` may be one of a service. */
const IS_CONDITION_OF_SERVICE =
  '!(k in variables.untouchable) && variables.conditionPrefixes.exists(p, k.startsWith(p)) && k.matches("^[A-Za-z0-9./_-]+$")';

/** Whether what others have of a list is the same before and after; `isOurs` is about the item `t`. */
const isSameOfOthers = (list: string, old: string, isOurs: string) =>
  `[[variables.${list}, variables.${old}].map(s, s.filter(t, !(${isOurs})))].all(s, s[0] == s[1])`;

/** Whether two maps differ in nothing but these fields, and others that only the first has. */
const isSameBut = (fields: readonly string[], one: string, other: string, onlyNew = 'false') =>
  `${one}.all(f, f in ${celList(fields)} || ${other}[?f] == optional.of(${one}[f])${onlyNew === 'false' ? '' : ` || ${onlyNew}`}) && ${other}.all(f, f in ${celList(fields)} || f in ${one})`;

/** Whether a text is as long as it was, or no longer than this: `length` gives its length in the new or old state. */
const isNoLonger = (length: (state: 'new' | 'old') => string, most: number) =>
  `[${length('new')}].all(n, n <= ${most} || n <= ${length('old')})`;

const stated = (name: string) => (state: 'new' | 'old') =>
  state === 'new' ? `variables.${name}` : `variables.old${name.charAt(0).toUpperCase()}${name.slice(1)}`;
const lengthOfLabels = (state: 'new' | 'old') =>
  [stated('labels')(state)].map((labels) => `${labels}.map(k, size(k) + size(${labels}[k])).sum()`).join('');
/** Characters of the annotations that are rollcall's. */
const lengthOfAnnotations = (state: 'new' | 'old') =>
  `variables.ownAnnotations.map(k, size(${stated('annotations')(state)}[?k].orValue(''))).sum()`;
const lengthOfConditions = (state: 'new' | 'old') =>
  `${stated('conditions')(state)}.map(c, size(c.type) + size(c.?reason.orValue('')) + size(c.?message.orValue(''))).sum()`;

/** One entry of the list of keys, as the coordinator writes it. No origin reads as a key. */
const LIST_ENTRY = '"(label|taint|condition):[^"\\\\\\\\[:cntrl:]]+":"((rule|service):)?[^":\\\\\\\\[:cntrl:]]*",';

const VALIDATIONS = [
  {
    expression: cel(`
      variables.isNode ? request.operation == 'UPDATE' && (request.?subResource.orValue('') == '' || variables.isStatus)
      : size(variables.may) > 0 && (request.operation == 'UPDATE' || (request.operation == 'CREATE' && request.resource.resource == 'leases'))`),
    message:
      'rollcall may change Nodes and its own objects, and neither make nor delete them, nor use what is below them',
  },
  {
    // Also compares all other fields, including fields of later versions of Kubernetes.
    expression: cel(`
      variables.isNode || ([variables.may[0]].all(w,
        object.all(f, f in ['metadata', w] || variables.before[?f] == optional.of(object[f]) || (request.operation == 'CREATE' && f in ['apiVersion', 'kind']))
        && variables.before.all(f, f in ['metadata', w] || f in object)
        && [object[?w].orValue(dyn({}))].all(n, n.all(k, variables.before[?w][?k] == optional.of(n[k])
          || (k in variables.may && (type(n[k]) != string || size(n[k]) <= (w == 'data' ? ${DATA_LENGTH_MAX} : ${VALUE_LENGTH_MAX}))))
          && variables.before[?w].orValue(dyn({})).all(k, k in n || k in variables.may)))
      && ${isSameBut(['annotations', 'managedFields'], 'object.metadata', 'variables.before.metadata', `(request.operation == 'CREATE' && (f in ['name', 'namespace', 'uid', 'creationTimestamp'] || (f == 'labels' && object.metadata.labels == ${CEL_LEASE_LABELS})))`)}
      && [object.metadata.?annotations.orValue(dyn({}))].all(n, n.all(k, variables.before.metadata[?'annotations'][?k] == optional.of(n[k])
        || (k.contains('/') && k in variables.may && size(n[k]) <= ${VALUE_LENGTH_MAX}))
        && variables.before.metadata[?'annotations'].orValue(dyn({})).all(k, k in n || (k.contains('/') && k in variables.may))))`),
    message:
      'rollcall may change nothing but the content of its Secret, ConfigMap and Lease, and the status of its kinds',
  },
  {
    expression: cel(`
      !variables.isNode || !variables.isStatus || (variables.mayChangeConditions
        && ${isSameBut(['conditions'], 'object.status', 'oldObject.status')}
        && ${isSameBut(['managedFields'], 'object.metadata', 'oldObject.metadata')})`),
    message: 'rollcall may change nothing but conditions of the status of a Node',
  },
  {
    expression: cel(`
      !variables.isNode || !variables.isStatus
      || (${isSameOfOthers('conditions', 'oldConditions', `t.type in variables.removedConditions || [t.type].all(k, ${IS_CONDITION_OF_SERVICE})`)}
        && variables.conditions.all(c, c in variables.oldConditions || [c.type].all(k,
          ('"condition:' + k) in variables.oldKeyIds && ${IS_FREE_CONDITION}))
        && variables.oldConditions.all(c, variables.conditions.exists(o, o.type == c.type)
          || c.type in variables.removedConditions || [c.type].all(k, ${IS_FREE_CONDITION}))
        && variables.conditions.all(c, size(c.status) <= 7 || c in variables.oldConditions)
        && (size(variables.conditions) <= 256 || size(variables.conditions) <= size(variables.oldConditions))
        && ${isNoLonger(lengthOfConditions, TEXT_LENGTH_MAX)})`),
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
      && (variables.keyList == variables.oldKeyList || (size(variables.keyList) <= ${LIST_LENGTH_MAX} && size(variables.keyIds) <= ${IDS_MAX}))`),
    message: `rollcall may not write a list of more than ${IDS_MAX} keys or ${LIST_LENGTH_MAX} characters`,
  },
  {
    // What CEL reads in the list is then what a program reads that parses it.
    expression: cel(`
      variables.keyList == variables.oldKeyList || variables.keyList in ['', '{}'] || (variables.keyList.endsWith('}')
        && (variables.keyList.substring(0, size(variables.keyList) - 1) + ',').matches('^[{](${LIST_ENTRY})+$') && variables.keyIds.all(i, id, i == 0 || variables.keyIds[i - 1] < id))`),
    message: `rollcall may write ${KEYS_ANNOTATION} only as it writes it itself: sorted, without spaces and escapes`,
  },
  {
    expression: cel(`
      variables.annotations == variables.oldAnnotations
      || (variables.ownAnnotations.filter(k, k in ${celList(SHORT)}).all(k, size(variables.annotations[?k].orValue('')) <= ${SHORT_LENGTH_MAX}
            || variables.annotations[?k] == variables.oldAnnotations[?k])
        && ${isNoLonger(lengthOfAnnotations, ANNOTATIONS_LENGTH_MAX)})`),
    message: `rollcall may not let its annotations grow beyond ${ANNOTATIONS_LENGTH_MAX} characters, and single ones beyond ${SHORT_LENGTH_MAX}`,
  },
  {
    expression: cel(`
      size(variables.labels) <= ${LABELS_SURE_TO_FIT} || variables.labels == variables.oldLabels
      || ${isNoLonger(lengthOfLabels, TEXT_LENGTH_MAX)}`),
    message: `rollcall may not let the labels of a Node grow beyond ${TEXT_LENGTH_MAX} characters`,
  },
  {
    expression: cel(`
      size(variables.newIds) == 0
      || (variables.newLabelIds.all(k, ${MAY_LIST})
        && variables.newIds.filter(id, !id.startsWith('"label:')).all(id, [id.substring(id.indexOf(':') + 1)].all(k, k in variables.earlierKeys || (id.startsWith('"taint:')
          ? variables.taints.exists(t, t.key == k && (k in variables.ownTaints || (${IS_TAINT_OF_SERVICE})))
          : ${IS_CONDITION_OF_SERVICE} && ${IS_FREE_CONDITION}))))`),
    message: 'rollcall may not list the keys of others as its own',
  },
  {
    expression: cel(`
      variables.taints == variables.oldTaints
      || ${isSameOfOthers('taints', 'oldTaints', `t.key in variables.ownTaints || t.key in variables.removedTaints || (${IS_TAINT_OF_SERVICE})`)}`),
    message:
      'rollcall may not change the taints of others, and may only remove the startup taint and taints that are listed for a service',
  },
  {
    expression: cel(`
      variables.taints.all(t, !(t.key in variables.ownTaints) || t in variables.oldTaints
        || (t.effect == 'NoSchedule' && t.?value.orValue('') == 'true'))`),
    message: 'rollcall may add its taints with the value true and the effect NoSchedule only',
  },
  {
    expression: cel(`
      variables.taints.all(t, t in variables.oldTaints || ('"taint:' + t.key) in variables.keyIds)
      && (size(variables.taints) <= ${TAINTS_MAX} || size(variables.taints) <= size(variables.oldTaints))`),
    message: `rollcall may only add taints that it lists, and not more than ${TAINTS_MAX} to a Node`,
  },
  {
    expression: cel(`
      variables.taints.all(t, t.effect != 'NoExecute' || t in variables.oldTaints
        || (variables.mayEvict && ${IS_TAINT_OF_SERVICE}))`),
    message: 'rollcall may not add a taint that evicts pods',
  },
  {
    expression: `variables.node.spec == variables.oldNode.spec || (${isSameBut(['taints'], 'variables.node.spec', 'variables.oldNode.spec')})`,
    message: 'rollcall may not change the spec of a Node',
  },
  {
    expression: isSameBut(
      ['labels', 'annotations', 'managedFields'],
      'variables.node.metadata',
      'variables.oldNode.metadata',
    ),
    message: 'rollcall may not change owners or finalizers, or other metadata',
  },
  {
    expression: OTHERS_KEEP_THEIR_FIELDS,
    message: 'rollcall may not change what other field managers own',
  },
  {
    expression: ownFieldsAreOwn(MAY_OWN),
    message:
      'rollcall may not own the fields of others, nor fields that are not there, nor have more than one entry for an operation',
  },
];
