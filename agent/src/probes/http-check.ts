import type { ProbeSpec } from '@rollcall/common/report.ts';
import type { ProbeAnswer } from './probe.ts';

/** What is asked by GET, and which statuses are healthy. */
export type HttpCheck = {
  path: string;
  headers: Readonly<Record<string, string>>;
  /** One status or a range each: `404`, `200-399`. */
  statuses: readonly string[];
};

const STATUSES = /^([1-5]\d\d)(?:-([1-5]\d\d))?$/;
/** As it goes into the first line of a request: what is not ASCII or a blank has to be percent-encoded. */
const PATH = /^\/[!-"$-~]*$/;
/** RFC 9110, section 5.1; and, for values, printable ASCII. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]+$/;
const HEADER_VALUE = /^[ -~\t]*$/;

/**
 * Reads `path` (default `/`), `headers` (default none) and `statuses` (default 200); returns a string if one is
 * invalid.
 */
export function readHttpCheck({ path = '/', headers = {}, statuses = ['200'] }: ProbeSpec): HttpCheck | string {
  if (typeof path !== 'string' || !PATH.test(path)) return 'its path is not valid';
  if (!isHeaders(headers)) return 'its headers are not names with values';
  if (!isStatuses(statuses)) return 'its statuses are not a list of statuses and ranges';
  return { path, headers, statuses };
}

function isHeaders(value: unknown): value is Record<string, string> {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return false;
  return Object.entries(value).every(
    ([name, text]) => HEADER_NAME.test(name) && typeof text === 'string' && HEADER_VALUE.test(text),
  );
}

function isStatuses(value: unknown): value is string[] {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((status) => typeof status === 'string' && STATUSES.test(status));
}

export function judgeStatus(status: number, { statuses }: HttpCheck): ProbeAnswer {
  const isExpected = statuses.some((each) => {
    const [, from = '', to = from] = STATUSES.exec(each) ?? [];
    return status >= Number(from) && status <= Number(to);
  });
  if (isExpected) return { healthy: true, says: `answered ${status} as expected` };
  return { healthy: false, says: `answered ${status}, ${statuses.join(' or ')} was expected` };
}
