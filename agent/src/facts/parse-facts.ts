/** What a report may hold: the limits of the coordinator's report schema. Lengths are in characters. */
export const FACT_LIMITS = { facts: 64, key: 128, value: 1024 } as const;

const KEBAB_CASE = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;

/**
 * Reads what the child printed. Anything that is not a flat object of strings within the limits throws, as a whole: a
 * child that prints half of something else is not to be believed in the other half.
 */
export function parseFacts(output: string): Readonly<Record<string, string>> {
  const parsed: unknown = JSON.parse(output);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw new Error('not an object');
  const entries: [string, unknown][] = Object.entries(parsed);
  if (entries.length > FACT_LIMITS.facts) throw new Error(`more than ${FACT_LIMITS.facts} facts`);
  return Object.fromEntries(entries.map(([name, value]) => [checkedName(name), checkedValue(name, value)]));
}

function checkedName(name: string): string {
  if (name.length <= FACT_LIMITS.key && KEBAB_CASE.test(name)) return name;
  throw new Error(`not the name of a fact: ${JSON.stringify(name.slice(0, FACT_LIMITS.key))}`);
}

function checkedValue(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '' && value.length <= FACT_LIMITS.value) return value;
  throw new Error(`${name} is not a text of 1 to ${FACT_LIMITS.value} characters`);
}
