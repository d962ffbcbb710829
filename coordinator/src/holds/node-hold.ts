import type { NodeHold } from '../kube/objects.ts';
import type { LabelSelector } from '../setup/label-selector.ts';

/** A NodeHold as it is written, and what was said of it. */
export type ObservedNodeHold = {
  uid: string;
  name: string;
  generation: number;
  /** Those that keep the nodes that they are on; `undefined` where the spec is not understood. */
  pods: HeldPods | undefined;
  /** Names the first field of the spec that is not understood; for people. */
  problem: string | undefined;
  /** As last seen or written; its form is the business of whoever writes it. */
  status: unknown;
};

export type HeldPods = { namespace: string; selector: LabelSelector };

/** Trims a NodeHold. The API server checked its schema, which may be that of a newer version. */
export function observeNodeHold({ metadata, spec = {}, status }: NodeHold): ObservedNodeHold {
  const { uid, name, generation = 0 } = metadata;
  const strange = strangeField(spec, 'spec');
  const pods = strange === undefined ? (spec as { pods: HeldPods }).pods : undefined;
  const problem = strange === undefined ? undefined : `${strange} is not known to this version of rollcall`;
  return { uid, name, generation, pods, problem, status };
}

/** Returns the path of a field that is missing or not known, or has a value that is not; `undefined` if there is none. */
type Check = (value: unknown, path: string) => string | undefined;

const OPERATORS: readonly unknown[] = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

const text: Check = (value, path) => (typeof value === 'string' ? undefined : path);
const texts: Check = (value, path) => (Array.isArray(value) ? firstOf(value, (each) => text(each, path)) : path);
const labels: Check = (value, path) =>
  isObject(value) ? firstOf(Object.values(value), (each) => text(each, path)) : path;
const operator: Check = (value, path) => (OPERATORS.includes(value) ? undefined : path);
const requirement = object({ key: text, operator }, { values: texts });
const requirements: Check = (value, path) =>
  Array.isArray(value) ? firstOf(value, (each, index) => requirement(each, `${path}[${index}]`)) : path;
const selector = object({}, { matchLabels: labels, matchExpressions: requirements });
const heldPods = object({ namespace: text, selector }, {});
const strangeField = object({ pods: heldPods }, {});

/** Checks an object that has these fields, may have the optional ones, and no others. */
function object(required: Record<string, Check>, optional: Record<string, Check>): Check {
  const known = { ...required, ...optional };
  return (value, path) => {
    if (!isObject(value)) return path;
    const unknown = Object.keys(value).find((field) => !Object.hasOwn(known, field));
    if (unknown !== undefined) return `${path}.${unknown}`;
    return firstOf(Object.entries(known), ([field, check]) =>
      value[field] === undefined && !Object.hasOwn(required, field)
        ? undefined
        : check(value[field], `${path}.${field}`),
    );
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function firstOf<T>(values: readonly T[], check: (value: T, index: number) => string | undefined): string | undefined {
  for (const [index, value] of values.entries()) {
    const found = check(value, index);
    if (found !== undefined) return found;
  }
  return undefined;
}
