import { isUtf8 } from 'node:buffer';

type Labels = Readonly<Record<string, string>>;

/** A whole Node in a request: what is read of it, and as it came. */
type WholeNode = { name: string; labels: Labels; object: unknown };

/** The pods that kube-scheduler would evict from a node, by uid, and as they came. */
type Victims = { uids: ReadonlySet<string>; object: unknown };

/** What kube-scheduler sends: ExtenderArgs or ExtenderPreemptionArgs of its extender API, v1. */
export type ExtenderArguments = {
  pod: unknown;
  /** With `nodeCacheCapable: true`. */
  names: readonly string[] | undefined;
  /** With `nodeCacheCapable: false`. */
  nodes: readonly WholeNode[] | undefined;
  /** By node; for preemption, with `nodeCacheCapable: true`. */
  victims: ReadonlyMap<string, Victims> | undefined;
};

/** Commas and opening brackets of a large Pod, and of a whole Node. */
const POD_VALUES = 20_000;
const NODE_VALUES = 700;
/** Of all whole Nodes: as many as can be parsed in some 20 ms. */
const VALUES_MAX = 120_000;
/** kube-scheduler may know of nodes a little earlier. */
const NEW_NODES = 100;

/**
 * Reads a request about at most so many nodes as there are. Its keys may be in any case, as in Go. Throws SyntaxError, whose
 * message says what is wrong.
 */
export function readArguments(body: Buffer, fleetSize: number): ExtenderArguments {
  if (!isUtf8(body)) throw new SyntaxError('The request is not UTF-8');
  const nodesMax = 2 * fleetSize + NEW_NODES;
  // Counted before it is parsed: empty or nested lists cost much more than their bytes.
  if (hasMoreValues(body, POD_VALUES + nodesMax + Math.min(NODE_VALUES * nodesMax, VALUES_MAX))) {
    throw new SyntaxError(`The request has more items than ${nodesMax} nodes have`);
  }
  const document: unknown = JSON.parse(body.toString('utf8'));
  if (!isObject(document)) throw new SyntaxError('The request is not an object');
  const members = new Map(Object.entries(document).map(([key, value]) => [key.toLowerCase(), value ?? undefined]));
  const [pod, names, nodes, victims] = ['pod', 'nodenames', 'nodes', 'nodenametometavictims'].map((key) =>
    members.get(key),
  );
  if (!isObject(pod)) throw new SyntaxError('Pod is missing');
  const items = isObject(nodes) ? nodes['items'] : undefined;
  const asked = Math.max(...[names, items, victims].map((list) => (isList(list) ? Object.keys(list).length : 0)));
  if (asked > nodesMax) throw new SyntaxError(`The request names ${asked} nodes, and ${fleetSize} are known`);
  return { pod, names: readNames(names), nodes: readNodes(nodes), victims: readVictims(victims) };
}

function hasMoreValues(body: Buffer, max: number): boolean {
  let count = 0;
  for (const mark of [',', '[', '{']) {
    for (let at = body.indexOf(mark); at >= 0 && count <= max; at = body.indexOf(mark, at + 1)) count += 1;
  }
  return count > max;
}

function isList(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function readNames(names: unknown): ExtenderArguments['names'] {
  if (names === undefined) return undefined;
  if (Array.isArray(names) && names.every((name) => typeof name === 'string')) return names;
  throw new SyntaxError('NodeNames is not a list of names');
}

function readNodes(nodes: unknown): ExtenderArguments['nodes'] {
  if (nodes === undefined) return undefined;
  const items = isObject(nodes) ? (nodes['items'] ?? []) : undefined;
  if (!Array.isArray(items) || !items.every(isObject)) throw new SyntaxError('Nodes is not a list of nodes');
  return items.map((object) => {
    const { name, labels } = objectOf(object['metadata']);
    const texts = Object.entries(objectOf(labels)).filter((label) => typeof label[1] === 'string');
    return { name: textOf(name), labels: Object.fromEntries(texts) as Labels, object };
  });
}

function readVictims(victims: unknown): ExtenderArguments['victims'] {
  if (victims === undefined) return undefined;
  if (!isObject(victims)) throw new SyntaxError('NodeNameToMetaVictims is not an object');
  return new Map(
    Object.entries(victims).map(([node, object]) => {
      const { Pods: pods } = objectOf(object);
      const uids = Array.isArray(pods) ? pods.map((pod) => textOf(objectOf(pod)['UID'])) : [];
      return [node, { uids: new Set(uids), object }];
    }),
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
