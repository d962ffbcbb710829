import { nearest, type RecordsOption } from './option.ts';
import { type Converted, fromFile } from './values.ts';

type Problem = { problem: string; at: string };
type Fields = Readonly<Record<string, unknown>>;

/** Takes a list of records out of a configuration file. A problem says where it is, such as `[2].port`. */
export function recordsFromFile(option: RecordsOption, value: unknown): Converted {
  if (!Array.isArray(value)) return { problem: 'must be a list' };
  if (value.length > option.max) return { problem: `must have at most ${option.max} entries, got ${value.length}` };
  const records: Fields[] = [];
  const seen = new Map<unknown, number>();
  for (const [index, entry] of value.entries()) {
    const at = `[${index}]`;
    const converted = recordFromFile(option, entry, at);
    if ('problem' in converted) return converted;
    const key = converted.record[option.key];
    const before = seen.get(key);
    if (before !== undefined) return { problem: `is that of [${before}] already`, at: `${at}.${option.key}` };
    seen.set(key, index);
    records.push(converted.record);
  }
  return { value: records };
}

function recordFromFile({ fields }: RecordsOption, entry: unknown, at: string): { record: Fields } | Problem {
  if (entry === null || typeof entry !== 'object' || Array.isArray(entry)) {
    return { problem: `must be a mapping with ${Object.keys(fields).join(', ')}`, at };
  }
  const given = entry as Fields;
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(fields, name));
  if (unknown !== undefined) {
    const suggestion = nearest(unknown, Object.keys(fields));
    const hint = suggestion ? `did you mean ${suggestion}?` : `there are ${Object.keys(fields).join(', ')}`;
    return { problem: `unknown field, ${hint}`, at: `${at}.${unknown}` };
  }
  const record: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const value = given[name] ?? undefined;
    if (value === undefined && !field.required) continue;
    if (value === undefined) return { problem: 'is required', at: `${at}.${name}` };
    const converted = fromFile(field, value);
    if ('problem' in converted) return { problem: converted.problem, at: `${at}.${name}` };
    record[name] = converted.value;
  }
  return { record };
}
