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
/** No object in a cluster is larger than the limit of etcd, which defaults to 1.5 MiB. */
const OBJECT_BYTES_MAX = 4 * 1024 * 1024;
/** Names of nodes have at most 253 characters. */
const NAME_BYTES_MAX = 4 * 1024;
/** As many bytes in UTF-8 are within the limit for certain. */
const PLAIN_NAME_MAX = NAME_BYTES_MAX / 4;
/** No client sends members that are not in the API; a later version of the API may have a few. */
const OTHER_BYTES_MAX = 64 * 1024;
const MEMBERS_MAX = 32;
/** So much is read in one go; it takes some milliseconds. */
const STRETCH_BYTES = 1024 * 1024;
/** Of small elements, each takes longer than its bytes say. */
const STRETCH_ELEMENTS = 10_000;

type Breathe = () => Promise<void>;

/**
 * Reads a question. Whole Nodes are parsed one at a time, and of each no more is kept than its name, its labels and
 * where it is: thousands of them take little memory beside their text. `breathe` is waited for after every member, and
 * now and then in a list, so that other work gets its turn; what it throws is thrown.
 *
 * Keys are taken in any case, as Go takes them. Throws SyntaxError, whose message says what is wrong.
 */
export async function readArguments(body: Buffer, breathe: Breathe): Promise<ExtenderArguments> {
  const cursor = new JsonCursor(body);
  const read: { -readonly [K in keyof ExtenderArguments]: ExtenderArguments[K] } = {
    pod: undefined,
    names: undefined,
    items: undefined,
  };
  for (const key of distinctMembers(cursor)) {
    switch (key) {
      case 'pod':
        read.pod = cursor.value(OBJECT_BYTES_MAX);
        break;
      case 'nodenames':
        read.names = await readNames(cursor, breathe);
        break;
      case 'nodes':
        read.items = await readNodeList(cursor, breathe);
        break;
      default:
        cursor.value(OTHER_BYTES_MAX);
    }
    await breathe();
  }
  cursor.end();
  if (typeof read.pod !== 'object' || read.pod === null || Array.isArray(read.pod)) {
    throw new SyntaxError('Pod is missing');
  }
  return read;
}

/** The Pod of a question, where it comes first, as kube-scheduler sends it; `undefined` for anything else. */
export function readFirstPod(body: Buffer): unknown {
  const cursor = new JsonCursor(body);
  try {
    for (const key of cursor.members()) return key.toLowerCase() === 'pod' ? cursor.value(OBJECT_BYTES_MAX) : undefined;
  } catch (err) {
    if (!(err instanceof SyntaxError)) throw err;
  }
  return undefined;
}

/** Keys in lower case. Throws SyntaxError for one that was there before, and for more than there can be reason for. */
function* distinctMembers(cursor: JsonCursor): Generator<string> {
  const seen = new Set<string>();
  for (const key of cursor.members()) {
    const name = key.toLowerCase();
    if (seen.has(name)) throw new SyntaxError(`${key} occurs twice`);
    if (seen.size >= MEMBERS_MAX) throw new SyntaxError(`An object has more than ${MEMBERS_MAX} members`);
    seen.add(name);
    yield name;
  }
}

/** `undefined` for null. */
async function readNames(cursor: JsonCursor, breathe: Breathe): Promise<string[] | undefined> {
  if (!cursor.isArray()) {
    if (cursor.value(OTHER_BYTES_MAX) !== null) throw new SyntaxError('NodeNames is not a list of names');
    return undefined;
  }
  // Names of nodes are parsed twice as fast together as one by one. What else there may be is looked at closely.
  const plain = cursor.plainStrings({ bytes: STRETCH_BYTES, count: STRETCH_ELEMENTS, characters: PLAIN_NAME_MAX });
  if (plain) return plain;
  const names: string[] = [];
  await eachElement(cursor, 'NodeNames', breathe, () => {
    const name = cursor.value(NAME_BYTES_MAX);
    if (typeof name !== 'string') throw new SyntaxError('NodeNames is not a list of names');
    names.push(name);
  });
  return names;
}

/** `undefined` for null. */
async function readNodeList(cursor: JsonCursor, breathe: Breathe): Promise<NodeItem[] | undefined> {
  if (!cursor.isObject()) {
    if (cursor.value(OTHER_BYTES_MAX) !== null) throw new SyntaxError('Nodes is not a list of nodes');
    return undefined;
  }
  let items: NodeItem[] = [];
  for (const key of distinctMembers(cursor)) {
    if (key === 'items') items = await readItems(cursor, breathe);
    else cursor.value(OTHER_BYTES_MAX);
    await breathe();
  }
  return items;
}

async function readItems(cursor: JsonCursor, breathe: Breathe): Promise<NodeItem[]> {
  if (!cursor.isArray()) {
    if (cursor.value(OTHER_BYTES_MAX) !== null) throw new SyntaxError('Nodes.items is not a list of nodes');
    return [];
  }
  const items: NodeItem[] = [];
  await eachElement(cursor, 'Nodes.items', breathe, () => items.push(readItem(cursor)));
  return items;
}

/** Calls `read` for each element of a list that is named `list`. */
async function eachElement(cursor: JsonCursor, list: string, breathe: Breathe, read: () => void): Promise<void> {
  let count = 0;
  let breathedAt = cursor.position();
  for (const _element of cursor.elements()) {
    if (count >= NODES_MAX) throw new SyntaxError(`${list} has more than ${NODES_MAX} elements`);
    read();
    count += 1;
    if (cursor.position() - breathedAt < STRETCH_BYTES && count % STRETCH_ELEMENTS !== 0) continue;
    breathedAt = cursor.position();
    await breathe();
  }
}

function readItem(cursor: JsonCursor): NodeItem {
  if (!cursor.isObject()) throw new SyntaxError('Nodes.items contains an entry that is not a node');
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
