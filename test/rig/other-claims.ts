import { sign } from 'node:crypto';
import { readFile } from 'node:fs/promises';

/** The same token with other claims, signed by the API server's key. */
export async function withOtherClaims(token: string, change: object, signingKeyFile: string): Promise<string> {
  const [head = '', body = ''] = token.split('.');
  const claims = { ...JSON.parse(Buffer.from(body, 'base64url').toString()), ...change };
  const content = `${head}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
  const key = await readFile(signingKeyFile, 'utf8');
  const signature = sign('sha256', Buffer.from(content), { key, dsaEncoding: 'ieee-p1363' });
  return `${content}.${signature.toString('base64url')}`;
}
