import { isClearText } from '@rollcall/common/loopback.ts';

/**
 * Checks an address from the Lease, to which requests of others are sent. Returns what is wrong with it, or `undefined`.
 * `isTls`: replicas use TLS there, so that clear text reaches this machine only.
 */
export function problemOfAddress(address: string, isTls: boolean): string | undefined {
  const url = URL.parse(address);
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') return 'is not an https:// or http:// address';
  if (isTls && isClearText(url)) return 'would get requests in clear text; http:// is for loopback addresses only';
  return undefined;
}
