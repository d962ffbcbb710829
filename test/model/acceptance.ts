import { ALLOWED_PREFIXES, idsOf, type NodeServiceObject, PROBES_PER_SECOND } from './node-services.ts';

/**
 * §10: one object never decides about another that is older and in force: objects are evaluated by age, each against those
 * accepted before it. Two services that publish the same key: the older has it, then the one whose name sorts first. The
 * youngest that exceeds the probes of an agent is refused; any two of the model can be on one node.
 */
export function inForce(objects: Iterable<NodeServiceObject>): NodeServiceObject[] {
  const accepted: NodeServiceObject[] = [];
  for (const object of [...objects].toSorted(byAge)) {
    const taken = accepted.flatMap(({ spec }) => idsOf(spec));
    const isWrong = object.spec.unknownField || !idsOf(object.spec).every(isAllowed);
    const probes = [...accepted, object].reduce((sum, { spec }) => sum + probesPerSecond(spec.checks), BUILT_IN);
    if (probes > PROBES_PER_SECOND) continue;
    if (!isWrong && !idsOf(object.spec).some((id) => taken.includes(id))) accepted.push(object);
  }
  return accepted;
}

/** Both services of Gitpod are probed once a second. */
const BUILT_IN = 2;

function probesPerSecond({ port, isFast }: NodeServiceObject['spec']['checks']): number {
  if (port === undefined) return 0;
  return isFast ? 10 : 1;
}

function byAge(a: NodeServiceObject, b: NodeServiceObject): number {
  return a.createdAtMs - b.createdAtMs || (a.name < b.name ? -1 : 1);
}

function isAllowed(id: string): boolean {
  return ALLOWED_PREFIXES.some((prefix) => id.slice(id.indexOf(':') + 1).startsWith(prefix));
}
