/**
 * The groups of nodes of a graph that lead back to each other (its strongly connected components, by Tarjan's algorithm),
 * every node in one of them, in ascending order. A group comes after all that lead to it. `edges[node]` lists where a node
 * leads.
 */
export function components(edges: readonly (readonly number[])[]): number[][] {
  const groups: number[][] = [];
  const order = new Map<number, number>();
  const open: number[] = [];
  const isOpen = new Set<number>();

  /** The earliest open node that can be reached. */
  function visit(node: number): number {
    const mine = order.size;
    order.set(node, mine);
    open.push(node);
    isOpen.add(node);
    let earliest = mine;
    for (const next of edges[node] ?? []) {
      if (!order.has(next)) earliest = Math.min(earliest, visit(next));
      else if (isOpen.has(next)) earliest = Math.min(earliest, order.get(next) ?? mine);
    }
    if (earliest === mine) close(node);
    return earliest;
  }

  function close(node: number): void {
    const group = open.splice(open.lastIndexOf(node));
    for (const each of group) isOpen.delete(each);
    groups.push(group.sort((a, b) => a - b));
  }

  for (const node of edges.keys()) if (!order.has(node)) visit(node);
  // Each is closed after all that it leads to.
  return groups.reverse();
}
