import type { RequestOptions } from 'node:https';
import { configInvalid } from '@rollcall/common/config/load.ts';

/** Where the API server is, and what proves to it who asks. */
export type ApiAccess = {
  /** `https://HOST[:PORT][/PATH]`, or `http:`. */
  server: string;
  /** Whether requests take the `agent` of the options, as that speaks to a proxy. */
  viaProxy: boolean;
  /** Credentials as they are now: files are read, and plugins run. */
  options: () => Promise<RequestOptions & { headers: Record<string, string> }>;
  /** The API server did not accept them: what a plugin gave before is not given again. */
  renew: () => void;
};

export type ApiAccessOptions = {
  /** A path, or several joined as in KUBECONFIG; empty for the cluster that the program runs in. */
  kubeconfig: string;
  /** Address of the API server, which goes before what anything else says; empty when not given. */
  master: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Reads a file as UTF-8 text. */
  readFile?: (path: string) => string;
};

/** Throws CONFIG_INVALID for what is not the address of an API server. */
export function checkServer(server: string, field: string): string {
  const protocol = URL.canParse(server) ? new URL(server).protocol : '';
  if (protocol === 'https:' || protocol === 'http:') return server;
  throw configInvalid(field, `"${server}" is not the https:// or http:// address of an API server`);
}
