import type { RequestOptions } from 'node:https';
import type { CodedError } from '@rollcall/common/coded-error.ts';
import { configInvalid } from '@rollcall/common/config/load.ts';
import { isClearText } from '@rollcall/common/loopback.ts';

/** The address of the API server, and the credentials for it. */
export type ApiAccess = {
  /** `https://HOST[:PORT][/PATH]`, or `http:` on a loopback address. */
  server: string;
  /** Whether requests take the `agent` of the options, as that speaks to a proxy. */
  viaProxy: boolean;
  /** Credentials as they are now: files are read, and plugins run. */
  options: () => Promise<RequestOptions & { headers: Record<string, string> }>;
  /** The API server did not accept them: what a plugin gave before is not given again. */
  renew: () => void;
};

export type ApiFields = Readonly<Record<'kubeconfig' | 'master', string>>;

export const API_FLAGS: ApiFields = { kubeconfig: '--kubeconfig', master: '--master' };

export type ApiAccessOptions = {
  /** A path, or several joined as in KUBECONFIG; empty for the cluster that the program runs in. */
  kubeconfig: string;
  /** Address of the API server, which goes before what anything else says; empty when not given. */
  master: string;
  /** How `kubeconfig` and `master` were set, for errors; the flags by default. */
  fields?: ApiFields;
  env: Readonly<Record<string, string | undefined>>;
  /** Reads a file as UTF-8 text. */
  readFile?: (path: string) => string;
};

/** Throws CONFIG_INVALID for what is not the address of an API server, or would send credentials in clear text. */
export function checkServer(server: string, field: string): string {
  const url = URL.parse(server);
  if (url && isClearText(url)) throw clearText(field, `"${url.origin}"`);
  if (url?.protocol === 'https:' || url?.protocol === 'http:') return server;
  throw configInvalid(field, `"${server}" is not the https:// or http:// address of an API server`);
}

export function clearText(field: string, what: string): CodedError {
  return configInvalid(field, `${what} would get credentials in clear text; http:// is for loopback addresses only`);
}
