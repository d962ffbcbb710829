import type { ManagedFieldsEntry, Node } from '@rollcall/coordinator/kube/objects.ts';

type Operation = 'Apply' | 'Update';

/**
 * A field that can be owned: `label:KEY`, `annotation:KEY`, `taints`, which is one atom, or of the status
 * `condition:TYPE`, the entry itself, and `condition:TYPE#FIELD`, what is in it.
 */
export type Field = string;

/**
 * Who owns which fields, by `OPERATION MANAGER`, with `/status` after it for what was written to the status. No manager owns
 * nothing: an entry without fields is not there.
 */
export type Owners = ReadonlyMap<string, ReadonlySet<Field>>;

const STATUS = '/status';

/** The key of a writer among owners. */
export function ownerId(operation: Operation, manager: string, subresource?: string): string {
  return `${operation} ${manager}${subresource === 'status' ? STATUS : ''}`;
}

/** What is between the operation and the subresource of such a key. */
function managerOf(id: string): string {
  const name = id.slice(id.indexOf(' ') + 1);
  return name.endsWith(STATUS) ? name.slice(0, -STATUS.length) : name;
}

/** Every owned field of a Node with its value. Of the status, conditions alone are modelled. */
export function fieldsOf({ metadata, spec, status }: Partial<Node> & Pick<Node, 'metadata'>): Map<Field, string> {
  const fields = new Map<Field, string>();
  for (const [key, value] of Object.entries(metadata.labels ?? {})) fields.set(`label:${key}`, value);
  for (const [key, value] of Object.entries(metadata.annotations ?? {})) fields.set(`annotation:${key}`, value);
  if (spec?.taints?.length) fields.set('taints', JSON.stringify(spec.taints));
  for (const condition of status?.conditions ?? []) {
    fields.set(`condition:${condition.type}`, '');
    for (const [field, value] of Object.entries(condition)) {
      if (value !== undefined) fields.set(`condition:${condition.type}#${field}`, String(value));
    }
  }
  return fields;
}

/**
 * What an apply finds where managedFields are empty, since a person reset them: the API server gives all that is there to a
 * manager of its own. Of the status that is known only to an apply to it.
 */
export function ownersBeforeApply(owners: Owners, node: Node, subresource: string | undefined): Owners {
  if (owners.size > 0) return owners;
  const isMeant = (field: Field) => field.startsWith('condition:') === (subresource === 'status') || isMetadata(field);
  const fields = [...fieldsOf(node).keys()].filter(isMeant);
  return fields.length > 0
    ? new Map([[ownerId('Update', 'before-first-apply', subresource), new Set(fields)]])
    : owners;
}

function isMetadata(field: Field): boolean {
  return field.startsWith('label:') || field.startsWith('annotation:');
}

/**
 * What an update changes about ownership: the manager that changed a value owns it alone, and a removed value has no
 * owner. Where managedFields are empty, nothing is tracked before the next apply.
 */
export function ownersAfterUpdate(owners: Owners, own: string, before: Node, after: Node): Owners {
  if (owners.size === 0) return owners;
  const [old, now] = [fieldsOf(before), fieldsOf(after)];
  const changed = [...now.keys()].filter((field) => old.get(field) !== now.get(field));
  const next = new Map([...owners].map(([id, fields]) => [id, without(fields, changed)]));
  next.set(own, new Set([...(next.get(own) ?? []), ...changed]));
  return pruned(next, now);
}

/** Fields of an apply that another manager owns, where the apply would change them, with that manager. */
export function conflictsOf(
  owners: Owners,
  own: string,
  before: Node,
  applied: ReadonlyMap<Field, string>,
): { manager: string; field: Field }[] {
  const old = fieldsOf(before);
  const changed = [...applied].filter(([field, value]) => old.get(field) !== value).map(([field]) => field);
  return [...owners]
    .filter(([id]) => id !== own)
    .flatMap(([id, fields]) =>
      changed.filter((field) => fields.has(field)).map((field) => ({ manager: managerOf(id), field })),
    );
}

/** Fields that go by an apply: the manager applied them before, does not any more, and no other manager owns them. */
export function releasedBy(owners: Owners, own: string, applied: ReadonlyMap<Field, string>): Field[] {
  const others = [...owners].filter(([id]) => id !== own).map(([, fields]) => fields);
  return [...(owners.get(own) ?? [])].filter(
    (field) => !applied.has(field) && !others.some((fields) => fields.has(field)),
  );
}

/** Ownership after an apply that went through: the manager owns what it applied, and took by force what it changed. */
export function ownersAfterApply(
  owners: Owners,
  own: string,
  before: Node,
  after: Node,
  applied: ReadonlyMap<Field, string>,
): Owners {
  const [old, now] = [fieldsOf(before), fieldsOf(after)];
  const changed = [...applied.keys()].filter((field) => old.get(field) !== now.get(field));
  const next = new Map([...owners].map(([id, fields]) => [id, without(fields, changed)]));
  next.set(own, new Set(applied.keys()));
  return pruned(next, now);
}

export function sameOwners(a: Owners, b: Owners): boolean {
  return a.size === b.size && [...a].every(([id, fields]) => sameSet(fields, b.get(id)));
}

/** As it stands in `metadata.managedFields`. */
export function toManagedFields(owners: Owners): ManagedFieldsEntry[] {
  return [...owners].map(([id, fields]) => {
    const keysOf = (kind: string) =>
      [...fields].filter((field) => field.startsWith(kind)).map((f) => f.slice(kind.length));
    const part = (name: string, keys: string[]) =>
      keys.length === 0 ? {} : { [name]: Object.fromEntries(keys.map((key) => [`f:${key}`, {}])) };
    const metadata = { ...part('f:labels', keysOf('label:')), ...part('f:annotations', keysOf('annotation:')) };
    const conditions = conditionFields(keysOf('condition:'));
    const fieldsV1 = {
      ...(Object.keys(metadata).length > 0 ? { 'f:metadata': metadata } : {}),
      ...(fields.has('taints') ? { 'f:spec': { 'f:taints': {} } } : {}),
      ...(conditions.size > 0 ? { 'f:status': { 'f:conditions': Object.fromEntries(conditions) } } : {}),
    };
    const operation = id.slice(0, id.indexOf(' ')) as Operation;
    const where = id.endsWith(STATUS) ? { subresource: 'status' } : {};
    return { manager: managerOf(id), operation, ...where, fieldsV1 };
  });
}

function conditionFields(keys: readonly string[]): Map<string, Record<string, unknown>> {
  const conditions = new Map<string, Record<string, unknown>>();
  for (const key of keys) {
    const [type = '', field] = key.split('#');
    const id = `k:${JSON.stringify({ type })}`;
    conditions.set(id, { ...conditions.get(id), [field === undefined ? '.' : `f:${field}`]: {} });
  }
  return conditions;
}

/** Out of `metadata.managedFields`, as far as it is modelled. */
export function fromManagedFields(entries: readonly ManagedFieldsEntry[]): Owners {
  const owners = new Map<string, ReadonlySet<Field>>();
  for (const { manager = '', operation = 'Update', subresource, fieldsV1 = {} } of entries) {
    const metadata = (fieldsV1['f:metadata'] ?? {}) as Record<string, Record<string, unknown>>;
    const keysOf = (name: string, kind: string) =>
      Object.keys(metadata[name] ?? {}).flatMap((key) => (key.startsWith('f:') ? [`${kind}:${key.slice(2)}`] : []));
    const spec = (fieldsV1['f:spec'] ?? {}) as Record<string, unknown>;
    const fields = [...keysOf('f:labels', 'label'), ...keysOf('f:annotations', 'annotation')];
    if ('f:taints' in spec) fields.push('taints');
    const status = (fieldsV1['f:status'] ?? {}) as Record<string, Record<string, Record<string, unknown>>>;
    for (const [key, inside] of Object.entries(status['f:conditions'] ?? {})) {
      if (!key.startsWith('k:')) continue;
      const { type } = JSON.parse(key.slice(2)) as { type: string };
      for (const each of Object.keys(inside))
        fields.push(`condition:${type}${each === '.' ? '' : `#${each.slice(2)}`}`);
    }
    if (fields.length > 0) owners.set(ownerId(operation, manager, subresource), new Set(fields));
  }
  return owners;
}

function pruned(owners: ReadonlyMap<string, ReadonlySet<Field>>, there: ReadonlyMap<Field, string>): Owners {
  const entries = [...owners].map(([id, fields]) => [id, new Set([...fields].filter((f) => there.has(f)))] as const);
  return new Map(entries.filter(([, fields]) => fields.size > 0));
}

function without(fields: ReadonlySet<Field>, gone: readonly Field[]): ReadonlySet<Field> {
  return gone.some((field) => fields.has(field))
    ? new Set([...fields].filter((field) => !gone.includes(field)))
    : fields;
}

function sameSet(a: ReadonlySet<string>, b: ReadonlySet<string> | undefined): boolean {
  return b !== undefined && a.size === b.size && [...a].every((each) => b.has(each));
}
