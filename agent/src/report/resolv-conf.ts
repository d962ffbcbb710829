/** What a resolv.conf says, as in resolv.conf(5). */
export type ResolvConf = {
  nameservers: readonly string[];
  search: readonly string[];
  /** A name with fewer dots is first tried in the domains of `search`. */
  ndots: number;
  timeoutMs: number;
  attempts: number;
};

/** glibc waits 5 s unless told, which is all that a delivery has; so there would never be a second try. */
const TIMEOUT_SECONDS = 1;
/** What glibc takes. */
const NDOTS_MAX = 15;
const TIMEOUT_SECONDS_MAX = 30;
const ATTEMPTS_MAX = 5;

/** Reads the text of a resolv.conf. What is not known in it has no effect; the last of several `search` counts. */
export function parseResolvConf(text: string): ResolvConf {
  const nameservers: string[] = [];
  let search: readonly string[] = [];
  const options = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [keyword = '', ...values] = line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/);
    if (keyword === 'nameserver' && values[0] !== undefined) nameservers.push(values[0]);
    if (keyword === 'search' || keyword === 'domain') search = values;
    if (keyword === 'options') for (const option of values) readOption(option, options);
  }
  return {
    nameservers,
    search,
    ndots: Math.min(options.get('ndots') ?? 1, NDOTS_MAX),
    timeoutMs: Math.min(options.get('timeout') || TIMEOUT_SECONDS, TIMEOUT_SECONDS_MAX) * 1000,
    attempts: Math.min(options.get('attempts') || 2, ATTEMPTS_MAX),
  };
}

/** The names to ask for in turn, each from the root. One that ends with a dot is from the root as it is. */
export function namesToAsk(name: string, { search, ndots }: Pick<ResolvConf, 'search' | 'ndots'>): string[] {
  if (name.endsWith('.')) return [name.slice(0, -1)];
  const searched = search.map((domain) => `${name}.${domain.replace(/^\.|\.$/g, '')}`.replace(/\.$/, ''));
  const dots = name.split('.').length - 1;
  return [...new Set(dots >= ndots ? [name, ...searched] : [...searched, name])];
}

function readOption(option: string, options: Map<string, number>): void {
  const [, key, value] = /^(ndots|timeout|attempts):(\d+)$/.exec(option) ?? [];
  if (key !== undefined) options.set(key, Number(value));
}
