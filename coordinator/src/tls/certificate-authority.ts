import { randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import type { KeyPair } from './certificate-holder.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

const DAY_MS = 86_400_000;
export const AUTHORITY_LIFE_MS = 365 * DAY_MS;
export const LEAF_LIFE_MS = 90 * DAY_MS;

/** Certificates are valid a day before they are made, because the clock of a node or of the leader may be wrong. */
const BACKDATED_MS = DAY_MS;

export type LeafRequest = {
  /** DNS names and IP addresses. */
  names: readonly string[];
  nowMs: number;
};

/** Makes a certificate authority that signs servers' certificates and nothing else. */
export async function createAuthority({ nowMs }: { nowMs: number }): Promise<KeyPair> {
  const x509 = await loadX509();
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    // Two authorities of one name would confuse clients that look for an issuer by name.
    name: `CN=rollcall-coordinator-ca-${randomBytes(4).toString('hex')}`,
    notBefore: wholeSeconds(nowMs - BACKDATED_MS),
    notAfter: wholeSeconds(nowMs + AUTHORITY_LIFE_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: `${certificate.toString('pem')}\n`, key: await exportKey(keys.privateKey) };
}

/** Issues a server's certificate, which does not outlive its authority. */
export async function issueLeaf(authority: KeyPair, request: LeafRequest): Promise<KeyPair> {
  const x509 = await loadX509();
  const issuer = new x509.X509Certificate(authority.cert);
  const keys = await generateKeys();
  const { names, nowMs } = request;
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: 'CN=rollcall-coordinator',
    issuer: issuer.subject,
    notBefore: wholeSeconds(nowMs - BACKDATED_MS),
    notAfter: wholeSeconds(Math.min(nowMs + LEAF_LIFE_MS, issuer.notAfter.getTime())),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: await importKey(authority.key),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      // Replicas show it to each other as well.
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value })),
      ),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: `${certificate.toString('pem')}\n`, key: await exportKey(keys.privateKey) };
}

/** Loaded when it is needed: a replica that only serves what it is given does without. */
const loadX509 = () => import('./x509.ts');

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const base64 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key)).toString('base64');
  const lines = base64.match(/.{1,64}/g) ?? [];
  return `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`;
}

function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  const der = Buffer.from(pem.replace(/-----[A-Z ]+-----|\s/g, ''), 'base64');
  return webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign']);
}

/** A positive number of 16 bytes: the first bit is 0 and the next one 1. */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString('hex');
}

/** Certificates have no fractions of seconds. */
function wholeSeconds(ms: number): Date {
  return new Date(Math.floor(ms / 1000) * 1000);
}
