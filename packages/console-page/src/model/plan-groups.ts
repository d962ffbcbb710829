import type { PlannedNode } from '@rollcall/common/console.ts';

/** The same change on several nodes. */
export type PlanGroup = {
  /** `add`: set, or changed. `remove`: taken away. */
  direction: 'add' | 'remove';
  /** For people: `label example.com/a = true`. */
  what: string;
  nodes: { name: string; reason: string }[];
};

/** What is to change, each change with the nodes on which it does; what concerns most nodes first. */
export function planGroups(nodes: readonly PlannedNode[]): PlanGroup[] {
  const groups = new Map<string, PlanGroup>();
  for (const { name, changes } of nodes) {
    for (const { kind, key, from, to, reason } of changes) {
      const direction = to === undefined ? 'remove' : 'add';
      const was = from === undefined || to === undefined ? '' : `, now ${from || 'empty'}`;
      const what = `${kind} ${key}${to === undefined || to === '' ? '' : ` = ${to}`}${was}`;
      const id = `${direction} ${what}`;
      const group = groups.get(id) ?? { direction, what, nodes: [] };
      group.nodes.push({ name, reason });
      groups.set(id, group);
    }
  }
  return [...groups.values()].sort((a, b) => b.nodes.length - a.nodes.length || (a.what < b.what ? -1 : 1));
}
