import { JsonCursor } from './json-cursor.ts';

/** A whole Node in a question, and where its text begins and ends there. */
export type NodeItem = { name: string; labels: Readonly<Record<string, string>>; start: number; end: number };

/** What kube-scheduler sends to filter and prioritize: ExtenderArgs of its extender API, v1. */
export type ExtenderArguments = {
  pod: unknown;
  /** With `nodeCacheCapable`; it counts where both are there. */
  names: readonly string[] | undefined;
  /** Without. */
  items: readonly NodeItem[] | undefined;
};

/** Beyond the largest cluster there is. */
const NODES_MAX = 100_000;
/** No object in a cluster is larger than etcd lets it be: 1.5 MiB, unless told otherwise. */
const OBJECT_BYTES_MAX = 4 * 1024 * 1024;
const NAMES_BYTES_MAX = 32 * 1024 * 1024;
/** So much is read in one go; it takes some milliseconds. */
const STRETCH_BYTES = 1024 * 1024;

/**
 * Reads a question. Whole Nodes are parsed one at a time, and of each no more is kept than its name, its labels and
 * where it is: thousands of them take little memory beside their text. `breathe` is waited for now and then, so that
 * other work gets its turn; what it throws is thrown.
 *
 * Keys are taken in any case, as Go takes them, and of two alike the last counts. Throws SyntaxError, whose message says what is wrong.
 */
export async function readArguments(body: Buffer, breathe: () => Promise<void>): Promise<ExtenderArguments> {
  const cursor = new JsonCursor(body);
  const read: { -readonly [K in keyof ExtenderArguments]: ExtenderArguments[K] } = {
    pod: undefined,
    names: undefined,
    items: undefined,
  };
  for (const key of cursor.members()) {
    switch (key.toLowerCase()) {
      case 'pod':
        read.pod = cursor.value(OBJECT_BYTES_MAX);
        break;
      case 'nodenames':
        read.names = namesOf(cursor.value(NAMES_BYTES_MAX));
        break;
      case 'nodes':
        read.items = await readNodeList(cursor, breathe);
        break;
      default:
        cursor.value(OBJECT_BYTES_MAX);
    }
  }
  cursor.end();
  if (typeof read.pod !== 'object' || read.pod === null || Array.isArray(read.pod)) {
    throw new SyntaxError('Pod is missing');
  }
  return read;
}

function namesOf(value: unknown): string[] | undefined {
  if (value === null) return undefined;
  if (!Array.isArray(value) || !value.every((name) => typeof name === 'string')) {
    throw new SyntaxError('NodeNames is not a list of names');
  }
  if (value.length > NODES_MAX) throw new SyntaxError(`NodeNames has more than ${NODES_MAX} names`);
  return value;
}

/** `undefined` for null. */
async function readNodeList(cursor: JsonCursor, breathe: () => Promise<void>): Promise<NodeItem[] | undefined> {
  if (!cursor.isObject()) {
    if (cursor.value(OBJECT_BYTES_MAX) !== null) throw new SyntaxError('Nodes is not a list of nodes');
    return undefined;
  }
  let items: NodeItem[] = [];
  for (const key of cursor.members()) {
    if (key.toLowerCase() === 'items') items = await readItems(cursor, breathe);
    else cursor.value(OBJECT_BYTES_MAX);
  }
  return items;
}

async function readItems(cursor: JsonCursor, breathe: () => Promise<void>): Promise<NodeItem[]> {
  if (!cursor.isArray()) {
    if (cursor.value(OBJECT_BYTES_MAX) !== null) throw new SyntaxError('Nodes.items is not a list of nodes');
    return [];
  }
  const items: NodeItem[] = [];
  let breathedAt = cursor.position();
  for (const _element of cursor.elements()) {
    if (items.length >= NODES_MAX) throw new SyntaxError(`Nodes.items has more than ${NODES_MAX} nodes`);
    items.push(readItem(cursor));
    if (cursor.position() - breathedAt < STRETCH_BYTES) continue;
    breathedAt = cursor.position();
    await breathe();
  }
  return items;
}

function readItem(cursor: JsonCursor): NodeItem {
  if (!cursor.isObject()) throw new SyntaxError('Nodes.items holds something that is not a node');
  const start = cursor.position();
  const { metadata } = cursor.value(OBJECT_BYTES_MAX) as { metadata?: { name?: unknown; labels?: unknown } | null };
  const { name, labels } = metadata ?? {};
  return {
    name: typeof name === 'string' ? name : '',
    labels: labelsOf(labels),
    start,
    end: cursor.at,
  };
}

function labelsOf(value: unknown): NodeItem['labels'] {
  if (typeof value !== 'object' || value === null) return {};
  const labels = Object.entries(value);
  const strings = labels.filter((label): label is [string, string] => typeof label[1] === 'string');
  return strings.length === labels.length ? (value as NodeItem['labels']) : Object.fromEntries(strings);
}
