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

/** Reads a request. Its keys may be in any case, as in Go. Throws SyntaxError, whose message says what is wrong. */
export function readArguments(body: Buffer): ExtenderArguments {
  if (!isUtf8(body)) throw new SyntaxError('The request is not UTF-8');
  const document: unknown = JSON.parse(body.toString('utf8'));
  if (!isObject(document)) throw new SyntaxError('The request is not an object');
  const members = new Map(Object.entries(document).map(([key, value]) => [key.toLowerCase(), value ?? undefined]));
  const [pod, names, nodes, victims] = ['pod', 'nodenames', 'nodes', 'nodenametometavictims'].map((key) =>
    members.get(key),
  );
  if (!isObject(pod)) throw new SyntaxError('Pod is missing');
  return { pod, names: readNames(names), nodes: readNodes(nodes), victims: readVictims(victims) };
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
