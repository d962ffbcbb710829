import { KEYS_ANNOTATION, MANAGED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import { isOfCluster } from './actors.ts';
import { ALLOWED_PREFIXES, idsOf, type NodeServiceObject, PROBES_PER_SECOND } from './node-services.ts';
import type { World } from './world.ts';

/** The NodeServices, and everything by which they are accepted. */
type Claims = Pick<World, 'services' | 'sets' | 'rulesOn' | 'rules' | 'nodes'>;

/** `origin`: what the list on a Node names where it has the key. */
type Claimant = { object?: NodeServiceObject; createdAtMs: number; name: string; origin: string };

/**
 * §10: one object never decides about another that is older and in force: objects are evaluated by age, each against those
 * that were not refused. The youngest that exceeds the probes of an agent is refused; two that name different pools are
 * on no node together.
 */
export function inForce(world: Claims): NodeServiceObject[] {
  const accepted: NodeServiceObject[] = [];
  const others = new Set([...world.services.values()].toSorted(byAge));
  for (const object of others) {
    const { dryRun, publish, unknownField } = object.spec;
    const isWrong = unknownField || !idsOf({ publish: dryRun ?? publish }).every(isAllowed);
    const together = accepted.filter(({ spec }) => !areApart(spec.pool, object.spec.pool));
    const probes = [...together, object].reduce((sum, { spec }) => sum + probesPerSecond(spec.checks), BUILT_IN);
    const isTaken = () => idsOf(object.spec).some((id) => ownerOf(world, id, others)?.object !== object);
    if (isWrong || probes > PROBES_PER_SECOND || isTaken()) others.delete(object);
    else accepted.push(object);
  }
  return accepted;
}

/**
 * §10: whoever has a key on Nodes, by the origin that is listed there, keeps it; where it is on no Node, the object that
 * was created first, then by name, and rules last.
 */
function ownerOf(world: Claims, id: string, services: Iterable<NodeServiceObject>): Claimant | undefined {
  const key = id.slice('label:'.length);
  const isRule = world.rulesOn && world.rules.labels.has(key);
  const claimants: Claimant[] = [
    ...[...services]
      .filter(({ spec }) => idsOf(spec).includes(id))
      .map((object) => ({ ...object, object, origin: `service:${object.uid}` })),
    ...[...world.sets.values()]
      .filter(({ labels }) => id.startsWith('label:') && labels[key] !== undefined)
      .map(({ name, createdAt }) => ({ name, createdAtMs: Date.parse(createdAt), origin: 'pool' })),
    ...(isRule ? [{ name: key, createdAtMs: Number.POSITIVE_INFINITY, origin: 'rule' }] : []),
  ];
  const age = claimants.length > 1 ? claimants.toSorted(byAge) : claimants;
  const listed = age.length > 1 ? originsOf(world, id) : [];
  return age.find(({ origin }) => listed.some((each) => each === origin || each.startsWith(`${origin}:s`))) ?? age[0];
}

/** Which labels are a pool's, the list of pools alone says. */
function originsOf({ nodes }: Claims, id: string): string[] {
  return nodes.all().flatMap(({ metadata: { annotations = {} } }) => {
    const list = JSON.parse(annotations[KEYS_ANNOTATION] ?? '{}') as Record<string, string>;
    const isOfPool = annotations[MANAGED_LABELS_ANNOTATION]?.includes(JSON.stringify(id.slice('label:'.length)));
    const origin = list[id] === 'pool' ? undefined : list[id];
    return (isOfPool ? 'pool' : origin) ?? [];
  });
}

function areApart(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && b !== undefined && a !== b;
}

/** Both services of Gitpod are probed once a second, until they are at rest. */
const BUILT_IN = 2;

function probesPerSecond({ port, probe = 'tcp', isFast }: NodeServiceObject['spec']['checks']): number {
  if (port === undefined) return 0;
  if (isFast) return 10;
  return isOfCluster(probe) ? 0.1 : 1;
}

type Aged = Pick<Claimant, 'createdAtMs' | 'name'>;

function byAge(a: Aged, b: Aged): number {
  return a.createdAtMs - b.createdAtMs || (a.name < b.name ? -1 : 1);
}

function isAllowed(id: string): boolean {
  return ALLOWED_PREFIXES.some((prefix) => id.slice(id.indexOf(':') + 1).startsWith(prefix));
}
