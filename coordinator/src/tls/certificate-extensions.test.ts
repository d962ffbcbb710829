import { expect, test } from 'vitest';
import { createAuthority, issueLeaf } from './certificate-authority.ts';
import { isIssuedBy, pairProblem, parseCertificate } from './certificate-info.ts';
import * as x509 from './x509.ts';

const nowMs = Date.UTC(2026, 5, 1);
const names = ['localhost', '::1', '2001:0db8::0001'];

/** What a certificate may be used for, as clients have to heed it. */
function limitsOf(cert: string) {
  const certificate = new x509.X509Certificate(cert);
  const basic = certificate.getExtension(x509.BasicConstraintsExtension);
  const usage = certificate.getExtension(x509.KeyUsagesExtension);
  return {
    basic: [basic?.ca, basic?.pathLength, basic?.critical],
    usage: [usage?.usages, usage?.critical],
    subjectKey: certificate.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId,
    authorityKey: certificate.getExtension(x509.AuthorityKeyIdentifierExtension)?.keyId,
  };
}

test('an authority signs certificates that are no authorities, and nothing else', async () => {
  const { cert } = await createAuthority({ nowMs });
  const { keyCertSign, cRLSign } = x509.KeyUsageFlags;
  const limits = limitsOf(cert);
  expect(limits.basic).toEqual([true, 0, true]);
  expect(limits.usage).toEqual([keyCertSign | cRLSign, true]);
});

test('a leaf signs no certificates, and names the key of its authority', async () => {
  const authority = await createAuthority({ nowMs });
  const leaf = await issueLeaf(authority, { names, nowMs });
  const limits = limitsOf(leaf.cert);
  expect(limits.basic).toEqual([false, undefined, true]);
  expect(limits.usage).toEqual([x509.KeyUsageFlags.digitalSignature, true]);
  expect(limits.authorityKey).toBe(limitsOf(authority.cert).subjectKey);
  expect(limits.subjectKey).not.toBe(limits.authorityKey);
  expect(parseCertificate(leaf.cert).names).toEqual(['localhost', '::1', '2001:db8::1']);
});

test('a certificate with the name of an authority is not that authority', async () => {
  const authority = await createAuthority({ nowMs });
  const leaf = parseCertificate((await issueLeaf(authority, { names, nowMs })).cert);
  expect(isIssuedBy(leaf, parseCertificate(authority.cert))).toBe(true);
  expect(isIssuedBy(leaf, leaf)).toBe(false);
  expect(isIssuedBy(parseCertificate(authority.cert), leaf)).toBe(false);
});

test('each part that cannot be served is named, and what is wrong with it', async () => {
  const { cert, key } = await createAuthority({ nowMs });
  expect(pairProblem({ cert: '', key })).toEqual({ part: 'cert', problem: 'is not a certificate in PEM' });
  expect(pairProblem({ cert, key: '' })).toEqual({
    part: 'key',
    problem: 'is not a private key in PEM without a passphrase',
  });
  const broken = `${cert}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`;
  expect(pairProblem({ cert: broken, key })?.problem).toMatch(/^cannot be served: /);
  expect(pairProblem({ cert, key })).toBeUndefined();
});
