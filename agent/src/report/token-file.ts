import { readFileSync } from 'node:fs';
import { CodedError } from '@rollcall/common/coded-error.ts';

/**
 * The token as it is now: the kubelet replaces the file long before the token ends, so it is read for each report.
 * Throws TOKEN_UNREADABLE.
 */
export function readToken(path: string): string {
  let token: string;
  try {
    token = readFileSync(path, 'utf8').trim();
  } catch (cause) {
    throw new CodedError('TOKEN_UNREADABLE', `Cannot read the token file ${path}`, { cause, fields: { path } });
  }
  // RFC 6750, section 2.1. Anything else would also break the header that it goes into.
  if (!/^[\w.~+/-]+=*$/.test(token)) {
    throw new CodedError('TOKEN_UNREADABLE', `There is no token in ${path}`, { fields: { path } });
  }
  return token;
}
