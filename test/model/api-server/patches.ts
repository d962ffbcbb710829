/** RFC 7386 and as much of RFC 6902 as is used on Nodes. Values in, values out. */

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

export type JsonPatchOperation = { op: 'test' | 'add' | 'remove' | 'replace'; path: string; value?: unknown };

export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: JsonObject = { ...(isObject(target) ? target : {}) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value) as Json;
  }
  return result;
}

/** The patched value; `undefined` where an operation does not hold or has no place, after which nothing is done. */
export function jsonPatch(target: unknown, operations: readonly JsonPatchOperation[]): unknown {
  const root = structuredClone(target) as Json;
  return operations.every((operation) => carryOut(root, operation)) ? root : undefined;
}

function carryOut(root: Json, { op, path, value }: JsonPatchOperation): boolean {
  const steps = path.split('/').slice(1).map(unescapePointer);
  const last = steps.pop() ?? '';
  let parent: Json | undefined = root;
  for (const step of steps) parent = child(parent, step);
  if (parent === undefined || parent === null || typeof parent !== 'object') return op === 'test' && value === null;
  const there = child(parent, last);
  switch (op) {
    case 'test':
      // What is not there is null.
      return JSON.stringify(there ?? null) === JSON.stringify(value ?? null);
    case 'remove':
      return there !== undefined && removeFrom(parent, last);
    case 'replace':
      return there !== undefined && put(parent, last, value as Json);
    case 'add':
      return Array.isArray(parent) ? insert(parent, last, value as Json) : put(parent, last, value as Json);
  }
}

function child(parent: Json | undefined, step: string): Json | undefined {
  if (Array.isArray(parent)) return /^\d+$/.test(step) ? parent[Number(step)] : undefined;
  return isObject(parent) ? parent[step] : undefined;
}

function insert(list: Json[], step: string, value: Json): boolean {
  if (step === '-') return list.push(value) > 0;
  if (!/^\d+$/.test(step) || Number(step) > list.length) return false;
  list.splice(Number(step), 0, value);
  return true;
}

function put(parent: Json[] | JsonObject, step: string, value: Json): boolean {
  if (Array.isArray(parent)) parent[Number(step)] = value;
  else parent[step] = value;
  return true;
}

function removeFrom(parent: Json[] | JsonObject, step: string): boolean {
  if (Array.isArray(parent)) parent.splice(Number(step), 1);
  else delete parent[step];
  return true;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function unescapePointer(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}
