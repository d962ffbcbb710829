import { dirname, isAbsolute, resolve } from 'node:path';
import { loadYaml } from '@kubernetes/client-node';
import { configInvalid } from '@rollcall/common/config/load.ts';

type Fields = Record<string, unknown>;

/** The file and the setting that names it, for errors. */
type Origin = { path: string; field: string };

/** The content of a kubeconfig in its file format. Entries are `{ name, cluster | user | context }`. */
export type KubeconfigDocument = {
  clusters: Fields[];
  users: Fields[];
  contexts: Fields[];
  'current-context': string;
};

/** Far more than any kubeconfig has: values, counted once for each alias of YAML, and levels. */
const VALUES_MAX = 200_000;
const DEPTH_MAX = 100;

/** Reads one kubeconfig; paths in it are made absolute, from the file's own directory. Throws CONFIG_INVALID. */
export function parseKubeconfig(path: string, text: string, field: string): KubeconfigDocument {
  let document: unknown;
  try {
    document = loadYaml(text);
  } catch (cause) {
    throw configInvalid(field, `${path} is not YAML`, cause);
  }
  if (!isFields(document)) throw configInvalid(field, `${path} is not a kubeconfig`);
  if (countValues(document) > VALUES_MAX) throw configInvalid(field, `${path} is too large or too deep`);
  const directory = dirname(resolve(path));
  const current = document['current-context'];
  return {
    clusters: entries({ path, field }, document, 'clusters').map((entry) => withCluster(entry, directory)),
    users: entries({ path, field }, document, 'users').map((entry) => withUser(entry, directory)),
    contexts: entries({ path, field }, document, 'contexts'),
    'current-context': typeof current === 'string' ? current : '',
  };
}

/** Counts values until there are too many. A few lines with aliases can stand for more than fits into memory. */
function countValues(value: unknown, depth = 0): number {
  if (depth > DEPTH_MAX) return VALUES_MAX + 1;
  let count = 1;
  if (value === null || typeof value !== 'object') return count;
  for (const inner of Object.values(value)) {
    count += countValues(inner, depth + 1);
    if (count > VALUES_MAX) break;
  }
  return count;
}

/** Merges like kubectl: the first file that names a thing, or the current context, wins. */
export function mergeKubeconfigs(documents: readonly KubeconfigDocument[]): KubeconfigDocument {
  return {
    clusters: firstOfEachName(documents.flatMap((document) => document.clusters)),
    users: firstOfEachName(documents.flatMap((document) => document.users)),
    contexts: firstOfEachName(documents.flatMap((document) => document.contexts)),
    'current-context': documents.map((document) => document['current-context']).find((name) => name !== '') ?? '',
  };
}

function entries({ path, field }: Origin, document: Fields, list: 'clusters' | 'users' | 'contexts'): Fields[] {
  const value = document[list] ?? [];
  if (!Array.isArray(value) || !value.every(isFields)) {
    throw configInvalid(field, `${path}: ${list} is not a list of named entries`);
  }
  return value;
}

function firstOfEachName(list: Fields[]): Fields[] {
  const byName = new Map<unknown, Fields>();
  for (const entry of list) {
    if (!byName.has(entry['name'])) byName.set(entry['name'], entry);
  }
  return [...byName.values()];
}

function withCluster(entry: Fields, directory: string): Fields {
  if (!isFields(entry['cluster'])) return entry;
  return { ...entry, cluster: withAbsolutePaths(entry['cluster'], ['certificate-authority'], directory) };
}

function withUser(entry: Fields, directory: string): Fields {
  if (!isFields(entry['user'])) return entry;
  const paths = ['client-certificate', 'client-key', 'tokenFile'];
  const { tokenFile, ...user } = withAbsolutePaths(entry['user'], paths, directory);
  if (isFields(user['exec'])) user['exec'] = withCommandPath(user['exec'], directory);
  if (typeof tokenFile !== 'string' || tokenFile === '') return { ...entry, user };
  // The library reads a token file again and again only as an `auth-provider`; and a file goes before a token.
  const { token: _token, ...rest } = user;
  return { ...entry, user: { ...rest, 'auth-provider': { name: 'tokenFile', config: { tokenFile } } } };
}

/** A plugin named by a path is found from the file's directory; one named by a word, on the PATH. */
function withCommandPath(exec: Fields, directory: string): Fields {
  const command = exec['command'];
  const isPath = typeof command === 'string' && command.includes('/');
  return isPath ? { ...exec, command: resolve(directory, command) } : exec;
}

function withAbsolutePaths(fields: Fields, names: readonly string[], directory: string): Fields {
  const copy = { ...fields };
  for (const name of names) {
    const path = copy[name];
    if (typeof path === 'string' && path !== '' && !isAbsolute(path)) copy[name] = resolve(directory, path);
  }
  return copy;
}

function isFields(value: unknown): value is Fields {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
