import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const dayMs = 86_400_000;

/** A certificate with its key, both PEM. */
export interface KeyPairPem {
  readonly cert: string;
  readonly key: string;
}

interface LeafRequest {
  readonly commonName: string;
  /** Kubernetes reads them as the groups of a client. */
  readonly organizations?: readonly string[];
  /** DNS names and IP addresses that a server answers to. */
  readonly hosts?: readonly string[];
}

/** A certificate authority for the life of one test. */
export interface CertificateAuthority {
  readonly cert: string;
  /** Issues a certificate that is good for servers and clients, valid from an hour ago for a day. */
  issue(request: LeafRequest): Promise<KeyPairPem>;
}

export async function createCertificateAuthority(commonName: string): Promise<CertificateAuthority> {
  const keys = await generateKeys();
  const name = new x509.Name([{ CN: [commonName] }]);
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: name.toString(),
    ...validity(),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return {
    cert: `${authority.toString('pem')}\n`,
    issue: (request) => issueLeaf(authority, keys.privateKey, request),
  };
}

async function issueLeaf(
  authority: x509.X509Certificate,
  authorityKey: webcrypto.CryptoKey,
  request: LeafRequest,
): Promise<KeyPairPem> {
  const keys = await generateKeys();
  const organizations = (request.organizations ?? []).map((organization) => ({ O: [organization] }));
  const hosts = (request.hosts ?? []).map((host) => ({
    type: isIP(host) ? ('ip' as const) : ('dns' as const),
    value: host,
  }));
  const leaf = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: new x509.Name([...organizations, { CN: [request.commonName] }]).toString(),
    issuer: authority.subject,
    ...validity(),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: authorityKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
      await x509.AuthorityKeyIdentifierExtension.create(authority),
      ...(hosts.length > 0 ? [new x509.SubjectAlternativeNameExtension(hosts)] : []),
    ],
  });
  return { cert: `${leaf.toString('pem')}\n`, key: await exportKey(keys.privateKey) };
}

/** A P-256 key pair as PEM, such as an API server signs service-account tokens with. */
export async function createSigningKeys(): Promise<{ privateKey: string; publicKey: string }> {
  const keys = await generateKeys();
  const spki = await webcrypto.subtle.exportKey('spki', keys.publicKey);
  return { privateKey: await exportKey(keys.privateKey), publicKey: pem('PUBLIC KEY', spki) };
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  return pem('PRIVATE KEY', await webcrypto.subtle.exportKey('pkcs8', key));
}

function pem(label: string, der: ArrayBuffer): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

function serialNumber(): string {
  // The first bit stays 0: a serial number is a positive integer.
  return `4${randomBytes(16).toString('hex').slice(1)}`;
}

function validity(): { notBefore: Date; notAfter: Date } {
  const now = Date.now();
  return { notBefore: new Date(now - dayMs / 24), notAfter: new Date(now + dayMs) };
}
