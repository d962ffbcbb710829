import { FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import { cel } from './cel.ts';

// CEL about managedFields. Field ownership tells what only rollcall set, and what an apply of another client removes:
// so the coordinator may add fields to entries of its own field manager alone, and entries of others keep their content.

/** Under which the API server keeps the oldest entries of updates once there are more than ten. */
const MERGED_MANAGERS = 'ancient-changes';
const UPDATE_ENTRIES_MAX = 10;
/** Under which the API server keeps the fields of a Node without managedFields at the first apply. */
const FIRST_MANAGER = 'before-first-apply';

const isOwn = `m.manager == '${FIELD_MANAGER}'`;
const updatesIn = (entries: string) => `variables.${entries}.filter(m, m.operation == 'Update').size()`;

/** Variables that the expressions below use. */
export const FIELD_VARIABLES = [
  { name: 'fields', expression: 'object.metadata.?managedFields.orValue([])' },
  { name: 'oldFields', expression: 'variables.before.metadata.?managedFields.orValue([])' },
  { name: 'ownFields', expression: `variables.fields.filter(m, ${isOwn})` },
  { name: 'oldOwnFields', expression: `variables.oldFields.filter(m, ${isOwn})` },
  { name: 'othersFields', expression: `variables.fields.filter(m, !(${isOwn}))` },
  { name: 'oldOthersFields', expression: `variables.oldFields.filter(m, !(${isOwn}))` },
  {
    // An update that adds an entry merges the oldest ones until ten are left.
    name: 'isMerged',
    expression: `${updatesIn('oldFields')} >= ${UPDATE_ENTRIES_MAX} && ${updatesIn('fields')} == ${UPDATE_ENTRIES_MAX}`,
  },
  {
    // Keys of the conditions that other field managers added.
    name: 'takenConditions',
    expression: `variables.oldOthersFields.filter(m, m.manager != '${FIRST_MANAGER}').map(m, m.?fieldsV1[?'f:status'][?'f:conditions'].orValue(dyn({})).filter(c, m.fieldsV1['f:status']['f:conditions'][c][?'.'].hasValue()))`,
  },
];

type Kind = 'labels' | 'annotations';

/** Whether the entry has the label or annotation `k`. */
function hasField(entry: string, kind: Kind): string {
  return `${entry}.?fieldsV1[?'f:metadata'][?'f:${kind}'][?('f:' + k)].hasValue()`;
}

/** Whether before the request the key `k` belonged to rollcall, and to no field manager but rollcall and these. */
export function isAlone(kind: Kind, ...others: string[]): string {
  const isOther = others.map((each) => ` && m.manager != '${each}'`).join('');
  const owns = hasField('m', kind);
  const isKnown = others.length === 0 ? 'oldOwnFields' : 'oldFields';
  return `variables.${isKnown}.exists(m, ${owns}) && !variables.oldOthersFields.exists(m, ${owns}${isOther})`;
}

/** Whether before the request the key `k` belonged to no field manager that is known: managedFields may have been reset. */
export function isUnowned(kind: Kind): string {
  return `!variables.oldFields.exists(m, ${hasField('m', kind)} && !(m.manager in ['${FIELD_MANAGER}', '${FIRST_MANAGER}']))`;
}

/** The key in managedFields of the condition of the type `type`, in CEL. */
const conditionField = (type: string) => `'k:{"type":"' + ${type} + '"}'`;

/** Whether before the request no other field manager had added the condition of the type `k`. */
export const IS_FREE_CONDITION = `!variables.takenConditions.exists(t, ${conditionField('k')} in t)`;

const IS_SAME_ENTRY =
  'a.manager == c.manager && a.operation == c.operation && a.?apiVersion == c.?apiVersion && a.?subresource == c.?subresource && a.?time == c.?time';

/** Whether the entry `c` has at this path what the entry `a` has there. */
const has = (path: string) => `x[1].exists(c, c.?fieldsV1${path} == a.?fieldsV1${path})`;
/** The part of the object at the path `g`, `h` and `f` of managedFields. */
const valueIn = (object: string) => `${object}[?g.substring(2)][?h.substring(2)][?f.substring(2)]`;
/** Parts of which a request may change fields that others own as well. */
const isShared = `(variables.isNode ? h in ['f:labels', 'f:annotations', 'f:conditions'] : h == 'f:annotations' || (g == 'f:' + variables.may[0] && object[?g.substring(2)][?h.substring(2)] != oldObject[?g.substring(2)][?h.substring(2)]))`;
const isOwnCondition = `variables.conditionPrefixes.exists(p, f.startsWith('k:{"type":"' + p))`;
/** The request changed it, and with it who owns it. */
const isChanged = `(variables.isNode
          ? (h == 'f:conditions'
            ? variables.isStatus && (${isOwnCondition} || !variables.conditions.exists(d, f == ${conditionField('d.type')}))
            : ${valueIn('object')} != ${valueIn('oldObject')})
          : h != 'f:annotations' || ${valueIn('object')} != ${valueIn('oldObject')})`;

/**
 * Whether the entries of other field managers keep what they have, except what the request changed, and gain nothing.
 * `a` is an entry before the request, and in a second pass after it; `x[1]` are the entries of the other side that are
 * the same, or that it was merged with. An entry that gains something has no such entry, or more than it had.
 */
export const OTHERS_KEEP_THEIR_FIELDS = cel(`
  variables.othersFields == variables.oldOthersFields
  || [[dyn(variables.oldOthersFields), dyn(variables.othersFields), dyn(false)], [dyn(variables.othersFields), dyn(variables.oldFields), dyn(true)]].all(p,
    p[0].all(a, [[dyn(p[2]), dyn(p[1].filter(c, (${IS_SAME_ENTRY})
      || (variables.isMerged && a.operation == 'Update' && c.operation == 'Update' && (p[2]
        ? a.manager == '${MERGED_MANAGERS}' && !variables.fields.exists(a, ${IS_SAME_ENTRY})
          && variables.othersFields.all(m, m.operation != 'Update' || m.manager == '${MERGED_MANAGERS}' || m.?time.orValue('') >= c.?time.orValue(''))
        : c.manager == '${MERGED_MANAGERS}'))))]].all(x,
    x[0] && size(x[1]) == 0
      ? a.manager == '${FIRST_MANAGER}' && a.operation == 'Update' && !has(a.subresource) && size(variables.othersFields) == 1 && size(variables.oldFields) == 0
        && a.?fieldsV1.orValue({}).all(g, a.fieldsV1[g].all(h, object[?g.substring(2)][?h.substring(2)].hasValue()
          && a.fieldsV1[g][h].all(f, f.startsWith('f:') ? ${valueIn('object')}.hasValue() && size(a.fieldsV1[g][h][f]) <= 8 : f == '.' || (g != 'f:metadata' && size(f) <= 512))))
      : a.?fieldsV1.orValue({}).all(g, (x[1].exists(c, c.?fieldsV1[?g].hasValue()) || (!x[0] && size(a.fieldsV1[g]) > 0)) && a.fieldsV1[g].all(h, ${has('[?g][?h]')}
        || (h == 'f:taints' && !x[0] && variables.taints != variables.oldTaints)
        || (${isShared} && (!x[0] || x[1].exists(c, c.?fieldsV1[?g][?h].hasValue())) && a.fieldsV1[g][h].all(f, (f == '.' && !x[0]) || ${has('[?g][?h][?f]')}
          || (${isChanged} && (!x[0] || (x[1].exists(c, c.?fieldsV1[?g][?h][?f].hasValue())
            && a.fieldsV1[g][h][f].all(v, ${has('[?g][?h][?f][?v]')}))))))))))) `);

const CONDITION_FIELDS =
  "['.', 'f:type', 'f:status', 'f:reason', 'f:message', 'f:lastHeartbeatTime', 'f:lastTransitionTime', 'f:observedGeneration']";

/**
 * Whether rollcall has one entry for each operation and subresource, and these gain nothing but fields that are there,
 * are its own, and have nothing below them that is not known. `mayOwn` is about the label `k` of a Node.
 */
export const ownFieldsAreOwn = (mayOwn: string) =>
  cel(`
  variables.ownFields == variables.oldOwnFields || variables.ownFields.all(n,
    n.operation in ['Apply', 'Update'] && n.?subresource.orValue('') in ['', 'status']
    && variables.ownFields.exists_one(m, m.operation == n.operation && m.?subresource == n.?subresource)
    && n.?fieldsV1.orValue({}).all(g, (g in ['f:metadata', 'f:spec', 'f:status', 'f:data'] || variables.oldOwnFields.exists(m, m.?fieldsV1[?g].hasValue())) && n.fieldsV1[g].all(h, (h == '.' && size(n.fieldsV1[g][h]) == 0) || variables.oldOwnFields.exists(m, m.?fieldsV1[?g][?h] == n.?fieldsV1[?g][?h])
      || (g + h == 'f:specf:taints' && variables.isNode && size(n.fieldsV1[g][h]) == 0)
      || ((variables.isNode ? g + h in ['f:metadataf:labels', 'f:metadataf:annotations', 'f:statusf:conditions']
          : g + h == 'f:metadataf:annotations' || (g + h == 'f:metadataf:labels' && request.operation == 'CREATE') || (g == 'f:' + variables.may[0] && h.substring(2) in variables.may && size(n.fieldsV1[g][h]) <= 16))
        && n.fieldsV1[g][h].all(f, f == '.' || variables.oldOwnFields.exists(m, m.?fieldsV1[?g][?h][?f] == n.?fieldsV1[?g][?h][?f])
          || (h == 'f:conditions' ? variables.conditions.exists(c, f == ${conditionField('c.type')})
              && ((${isOwnCondition} && !variables.takenConditions.exists(t, f in t)) || !variables.isNode) && n.fieldsV1[g][h][f].all(v, v in ${CONDITION_FIELDS} && size(n.fieldsV1[g][h][f][v]) == 0)
            : f.startsWith('f:') && size(n.fieldsV1[g][h][f]) == 0 && ${valueIn('object')}.hasValue()
              && (h != 'f:annotations' || f.substring(2) in (variables.isNode ? variables.ownAnnotations : variables.may))
              && (h != 'f:labels' || !variables.isNode || [f.substring(2)].all(k, ${mayOwn}))))))))`);
