import type { LookupAddress } from 'node:dns';
import { readFileSync } from 'node:fs';
import { isIP, type LookupFunction } from 'node:net';

/** What a resolv.conf says, as in resolv.conf(5). */
type ResolvConf = {
  nameservers: readonly string[];
  search: readonly string[];
  /** A name with fewer dots is first tried in the domains of `search`. */
  ndots: number;
  timeoutMs: number;
  attempts: number;
};

/** glibc waits 5 s by default, the whole time of a delivery, so that there would never be a second try. */
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

export type NameFiles = { hosts: string; resolvConf: string };

const SYSTEM_FILES: NameFiles = { hosts: '/etc/hosts', resolvConf: '/etc/resolv.conf' };

/** With these, the next domain of the search list is tried, as glibc does. With others, such as a time-out, nothing is. */
const TRY_NEXT: readonly unknown[] = ['ENOTFOUND', 'ENODATA', 'ESERVFAIL'];

/** RFC 8305, section 3: so long is the other family waited for once one has answered. */
const RESOLUTION_DELAY_MS = 50;

type Family = 4 | 6;
type LookupResult = PromiseSettledResult<string[]>;

/**
 * Resolves names in the manner of getaddrinfo, by the hosts file and by DNS as resolv.conf says, until `signal` aborts.
 * getaddrinfo itself cannot be stopped: it holds a thread, which the end of the process waits for, until the last server
 * has not answered for the last time. Both files are read anew each time, as is the list of servers.
 */
export function createLookup(signal: AbortSignal, files: NameFiles = SYSTEM_FILES): LookupFunction {
  return (hostname, { family, all }, callback) => {
    const families: readonly Family[] = family === 4 || family === 6 ? [family] : [4, 6];
    resolveHost(hostname, families, signal, files).then(
      (addresses) => {
        const [first] = addresses;
        if (all || !first) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
}

/** Never empty: rejects with the code of the last answer where there is no address. */
async function resolveHost(
  hostname: string,
  families: readonly Family[],
  signal: AbortSignal,
  files: NameFiles,
): Promise<LookupAddress[]> {
  const known = fromHosts(textOf(files.hosts), hostname).filter(({ family }) => families.some((one) => one === family));
  return known.length > 0 ? known : resolveByDns(hostname, signal, { families, resolvConf: files.resolvConf });
}

/** Resolves a name by DNS alone, as resolv.conf says. Never empty: rejects with the code of the last answer. */
export async function resolveByDns(
  hostname: string,
  signal: AbortSignal,
  {
    families = [4, 6],
    resolvConf = SYSTEM_FILES.resolvConf,
  }: { families?: readonly Family[]; resolvConf?: string | undefined } = {},
): Promise<LookupAddress[]> {
  const conf = parseResolvConf(textOf(resolvConf));
  const { promises } = process.getBuiltinModule('node:dns');
  const resolver = new promises.Resolver({ timeout: conf.timeoutMs, tries: conf.attempts });
  const servers = conf.nameservers.filter((server) => isIP(server.replace(/:\d+$/, '')) === 4 || isIP(server) === 6);
  if (servers.length > 0) resolver.setServers(servers);
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  let problem: unknown;
  try {
    for (const name of namesToAsk(hostname, conf)) {
      signal.throwIfAborted();
      const answers = await answersOf(
        families.map((family) => (family === 4 ? resolver.resolve4(name) : resolver.resolve6(name))),
      );
      // What is not waited for any more would be asked again and again.
      resolver.cancel();
      const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
      if (addresses.length > 0) return addresses.map((address) => ({ address, family: isIP(address) }));
      const problems = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
      problem = problems.find((one) => !TRY_NEXT.includes(one.code)) ?? problems[0];
      if (!TRY_NEXT.includes(codeOf(problem))) break;
    }
  } finally {
    signal.removeEventListener('abort', cancel);
  }
  const code = codeOf(problem) ?? 'ENOTFOUND';
  throw Object.assign(new Error(`Cannot resolve ${hostname}: ${code}`, { cause: problem }), { code });
}

/**
 * The answers of both families, in their order. Some networks drop the queries for one of them: once the other has
 * addresses, or says that the name does not exist, which holds for both, the wait is over soon.
 */
function answersOf(queries: readonly Promise<string[]>[]): Promise<LookupResult[]> {
  return new Promise((resolve) => {
    const answers: (LookupResult | undefined)[] = queries.map(() => undefined);
    const finish = () => resolve(answers.filter((answer) => answer !== undefined));
    const take = (index: number, answer: LookupResult) => {
      answers[index] = answer;
      const isLast = answers.every((each) => each !== undefined);
      if (isLast) finish();
      else if (answer.status === 'fulfilled' || codeOf(answer.reason) === 'ENOTFOUND') {
        setTimeout(finish, RESOLUTION_DELAY_MS).unref();
      }
    };
    for (const [index, query] of queries.entries()) {
      query.then(
        (value) => take(index, { status: 'fulfilled', value }),
        (reason: unknown) => take(index, { status: 'rejected', reason }),
      );
    }
  });
}

/** What a hosts file says of a name, as in hosts(5), and of `localhost` in any case. */
function fromHosts(hosts: string, hostname: string): LookupAddress[] {
  const wanted = hostname.toLowerCase();
  const entries = hosts.split('\n').map((line) => line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/));
  const listed = entries.flatMap(([address = '', ...names]) => (names.includes(wanted) ? [address] : []));
  const addresses = listed.length === 0 && wanted === 'localhost' ? ['127.0.0.1', '::1'] : listed;
  return addresses.map((address) => ({ address, family: isIP(address) })).filter(({ family }) => family !== 0);
}

/** A file that is not there says nothing. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
