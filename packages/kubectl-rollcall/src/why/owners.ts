import type { KeyKind } from '@rollcall/common/console.ts';

/** A Node as the API server gives it, as far as it is read here. */
export type NodeObject = {
  metadata: { name: string; managedFields?: { manager?: string; subresource?: string; fieldsV1?: object }[] };
};

const FIELDS = { label: ['f:metadata', 'f:labels'], annotation: ['f:metadata', 'f:annotations'] } as const;

/** Who owns a key on a Node, by managedFields; rollcall is `rollcall`. Taints are owned as one list. */
export function ownersOf(node: NodeObject, kind: KeyKind, key: string): string[] {
  const path = kind === 'label' || kind === 'annotation' ? [...FIELDS[kind], `f:${key}`] : ['f:spec', 'f:taints'];
  if (kind === 'condition') path.splice(0, 2, 'f:status', 'f:conditions', `k:{"type":"${key}"}`);
  const owners = (node.metadata.managedFields ?? []).flatMap(({ manager, fieldsV1 }) =>
    manager !== undefined && hasPath(fieldsV1, path) ? [manager] : [],
  );
  return [...new Set(owners)];
}

function hasPath(fields: object | undefined, path: readonly string[]): boolean {
  let at: unknown = fields;
  for (const step of path) {
    if (at === null || typeof at !== 'object' || !(step in at)) return false;
    at = (at as Record<string, unknown>)[step];
  }
  return true;
}
