import { ALLOWED_PREFIXES, idsOf, type NodeServiceObject } from './node-services.ts';

/**
 * §10: one object never decides about another that is older and in force: objects are evaluated by age, each against those
 * accepted before it. Two services that publish the same key: the older has it, then the one whose name sorts first.
 */
export function inForce(objects: Iterable<NodeServiceObject>): NodeServiceObject[] {
  const accepted: NodeServiceObject[] = [];
  for (const object of [...objects].toSorted(byAge)) {
    const taken = accepted.flatMap(({ spec }) => idsOf(spec));
    const isWrong = object.spec.unknownField || !idsOf(object.spec).every(isAllowed);
    if (!isWrong && !idsOf(object.spec).some((id) => taken.includes(id))) accepted.push(object);
  }
  return accepted;
}

function byAge(a: NodeServiceObject, b: NodeServiceObject): number {
  return a.createdAtMs - b.createdAtMs || (a.name < b.name ? -1 : 1);
}

function isAllowed(id: string): boolean {
  return ALLOWED_PREFIXES.some((prefix) => id.slice(id.indexOf(':') + 1).startsWith(prefix));
}
