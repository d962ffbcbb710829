import { FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import { cel } from './cel.ts';

// CEL about managedFields. Field ownership tells what only rollcall set, and what an apply of another client removes:
// so the coordinator may add fields to entries of its own field manager alone.

/** Under which the API server keeps the oldest entries of updates once there are more than ten. */
const MERGED_MANAGERS = 'ancient-changes';
const UPDATE_ENTRIES_MAX = 10;
/** Under which the API server keeps the fields of a Node without managedFields at the first apply. */
const FIRST_MANAGER = 'before-first-apply';

type Kind = 'labels' | 'annotations';

/** Variables that the expressions below use. */
export const FIELD_VARIABLES = [
  { name: 'fields', expression: 'object.metadata.?managedFields.orValue([])' },
  { name: 'oldFields', expression: 'oldObject.metadata.?managedFields.orValue([])' },
  { name: 'ownFields', expression: `variables.fields.filter(m, m.manager == '${FIELD_MANAGER}')` },
  { name: 'oldOwnFields', expression: `variables.oldFields.filter(m, m.manager == '${FIELD_MANAGER}')` },
  { name: 'othersFields', expression: `variables.fields.filter(m, m.manager != '${FIELD_MANAGER}')` },
  { name: 'oldOthersFields', expression: `variables.oldFields.filter(m, m.manager != '${FIELD_MANAGER}')` },
  {
    name: 'isMerged',
    expression: `variables.oldFields.filter(m, m.operation == 'Update').size() >= ${UPDATE_ENTRIES_MAX}`,
  },
];

/** The fields of an entry at this path, without a key that is an expression. */
function at(entry: string, ...path: string[]): string {
  return `${entry}.?fieldsV1${path.map((field) => `[?'${field}']`).join('')}`;
}

function has(entry: string, kind: Kind, field: string): string {
  return `${at(entry, 'f:metadata', `f:${kind}`)}[?${field}].hasValue()`;
}

/** Whether before the request the key `k` belonged to rollcall, and to no field manager but rollcall and these. */
export function isAlone(kind: Kind, ...others: string[]): string {
  const isOther = others.map((each) => ` && m.manager != '${each}'`).join('');
  const owns = has('m', kind, "('f:' + k)");
  const isKnown = others.length === 0 ? 'oldOwnFields' : 'oldFields';
  return `variables.${isKnown}.exists(m, ${owns}) && !variables.oldOthersFields.exists(m, ${owns}${isOther})`;
}

/** Whether before the request no other field manager had added the condition of the type `k`. */
export const IS_FREE_CONDITION = `!variables.oldOthersFields.exists(m, m.manager != '${FIRST_MANAGER}' && ${at('m', 'f:status', 'f:conditions')}[?('k:{"type":"' + k + '"}')][?'.'].hasValue())`;

/** What may be lost, in CEL: of the field `f` of labels or annotations, the field `g` of the spec, the condition `c`. */
type Excuses = { labels: string; annotations: string; taints: string; condition: string };

const NONE: Excuses = { labels: 'false', annotations: 'false', taints: 'false', condition: 'false' };

/** Whether everything that the entry `a` has is in `b` as well, or excused. `{}` is an entry that is not there. */
function isWithin(a: string, b: string, excuses: Excuses): string {
  const same = (field: string, ...path: string[]) => `${at(b, ...path)}[?${field}] == ${at(a, ...path)}[?${field}]`;
  const of = (...path: string[]) => `${at(a, ...path)}.orValue({})`;
  return [
    `${of()}.all(g, g in ['f:metadata', 'f:spec', 'f:status'] || ${same('g')})`,
    `${of('f:metadata')}.all(g, g in ['f:labels', 'f:annotations'] || ${same('g', 'f:metadata')})`,
    `${of('f:metadata', 'f:labels')}.all(f, f == '.' || ${has(b, 'labels', 'f')} || ${excuses.labels})`,
    `${of('f:metadata', 'f:annotations')}.all(f, f == '.' || ${has(b, 'annotations', 'f')} || ${excuses.annotations})`,
    `${of('f:spec')}.all(g, (g == 'f:taints' && ${excuses.taints}) || ${same('g', 'f:spec')})`,
    `${of('f:status')}.all(g, g == 'f:conditions' || ${same('g', 'f:status')})`,
    `${of('f:status', 'f:conditions')}.all(c, c == '.' || ${same('c', 'f:status', 'f:conditions')} || ${excuses.condition})`,
  ].join('\n      && ');
}

const isOwnCondition = `variables.conditionPrefixes.exists(p, c.startsWith('k:{"type":"' + p))`;
const isChanged = (kind: Kind, old: string) =>
  `variables.${kind}[?f.substring(2)] != variables.${old}[?f.substring(2)]`;
/** The request changed it, and with it who owns it. */
const CHANGED: Excuses = {
  labels: isChanged('labels', 'oldLabels'),
  annotations: isChanged('annotations', 'oldAnnotations'),
  taints: 'variables.taints != variables.oldTaints',
  condition: `(variables.isStatus && (${isOwnCondition} || !variables.conditions.exists(d, c == 'k:{"type":"' + d.type + '"}')))`,
};
const OWN_CONDITIONS: Excuses = { ...NONE, condition: `(variables.isStatus && ${isOwnCondition})` };

const IS_SAME_ENTRY =
  'n.manager == m.manager && n.operation == m.operation && n.?apiVersion == m.?apiVersion && n.?subresource == m.?subresource';

/** Whether an update merged the entry `m` with the others that are the oldest. */
const IS_MERGED = `(variables.isMerged && m.operation == 'Update' && variables.othersFields.exists(n, n.manager == '${MERGED_MANAGERS}'
      && ${isWithin('m', 'n', { ...CHANGED, condition: 'true' })}))`;

/** Whether `n` is those entries: all of its fields belonged to one of them. */
const IS_MERGE = `(variables.isMerged && n.manager == '${MERGED_MANAGERS}' && n.operation == 'Update'
      && ${(['labels', 'annotations'] as const)
        .map(
          (kind) =>
            `${at('n', 'f:metadata', `f:${kind}`)}.orValue({}).all(f, f == '.' || variables.oldFields.exists(m, ${has('m', kind, 'f')}))`,
        )
        .join('\n      && ')}
      && ${at('n', 'f:spec')}.orValue({}).all(g, g == 'f:taints' || variables.oldFields.exists(m, ${at('m', 'f:spec')}[?g].hasValue())))`;

/** Whether the entries of other field managers keep what they have, except what the request changed, and gain nothing. */
export const OTHERS_KEEP_THEIR_FIELDS = cel(`
  variables.othersFields == variables.oldOthersFields
  || (variables.oldOthersFields.all(m,
      variables.othersFields.exists(n, ${IS_SAME_ENTRY}
      && ${isWithin('m', 'n', CHANGED)})
      || (${isWithin('m', '{}', CHANGED)})
      || ${IS_MERGED})
    && variables.othersFields.all(n,
      variables.oldOthersFields.exists(m, ${IS_SAME_ENTRY}
      && ${isWithin('n', 'm', OWN_CONDITIONS)})
      || (n.manager == '${FIRST_MANAGER}' && size(variables.oldFields) == 0)
      || ${IS_MERGE}))`);

/** Whether rollcall's entries gain nothing but what is its own. `mayOwn` is about the label `k`. */
export function ownFieldsAreOwn(mayOwn: string): string {
  const was = (kind: Kind) => `variables.oldOwnFields.exists(m, ${has('m', kind, 'f')})`;
  return cel(`
    variables.ownFields == variables.oldOwnFields || variables.ownFields.all(n,
      ${at('n')}.orValue({}).all(g, g in ['f:metadata', 'f:spec', 'f:status'])
      && ${at('n', 'f:metadata')}.orValue({}).all(g, g in ['f:labels', 'f:annotations'])
      && ${at('n', 'f:spec')}.orValue({}).all(g, g == 'f:taints')
      && ${at('n', 'f:status')}.orValue({}).all(g, g == 'f:conditions')
      && ${at('n', 'f:metadata', 'f:labels')}.orValue({}).all(f, f == '.' || ${was('labels')}
        || [f.substring(2)].all(k, ${mayOwn}))
      && ${at('n', 'f:metadata', 'f:annotations')}.orValue({}).all(f, f == '.' || ${was('annotations')}
        || f.substring(2) in variables.ownAnnotations)
      && ${at('n', 'f:status', 'f:conditions')}.orValue({}).all(c, c == '.' || ${isOwnCondition}
        || variables.oldOwnFields.exists(m, ${at('m', 'f:status', 'f:conditions')}[?c].hasValue())))`);
}
