import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIPv6, SocketAddress } from 'node:net';
import { createSecureContext } from 'node:tls';
import { describeError } from '@rollcall/common/coded-error.ts';
import type { KeyPair } from './certificate-holder.ts';

/** One certificate, read. Times are milliseconds since the epoch. */
export type CertificateInfo = {
  /** With a final newline, and nothing around it. */
  pem: string;
  /** SHA-256 of the certificate; tells two of them apart. */
  fingerprint: string;
  notBeforeMs: number;
  notAfterMs: number;
  /** The DNS names and IP addresses that it is made for, IPv6 addresses in their short form. */
  names: readonly string[];
  x509: X509Certificate;
};

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Reads the first certificate of a PEM text. Throws when there is none, or it is damaged. */
export function parseCertificate(pem: string): CertificateInfo {
  const x509 = new X509Certificate(pem);
  return {
    pem: `${x509.toString().trimEnd()}\n`,
    fingerprint: x509.fingerprint256,
    notBeforeMs: x509.validFromDate.getTime(),
    notAfterMs: x509.validToDate.getTime(),
    names: readNames(x509.subjectAltName ?? ''),
    x509,
  };
}

/** The certificates of a bundle; what is damaged is left out. */
export function parseBundle(pem: string): CertificateInfo[] {
  const found: CertificateInfo[] = [];
  for (const [block] of pem.matchAll(PEM_CERTIFICATE)) {
    try {
      found.push(parseCertificate(block));
    } catch {
      // The caller compares the bundle with the expected one, and finds that something is missing.
    }
  }
  return found;
}

/** Whether `authority` signed `certificate`. */
export function isIssuedBy(certificate: CertificateInfo, authority: CertificateInfo): boolean {
  return certificate.x509.checkIssued(authority.x509) && certificate.x509.verify(authority.x509.publicKey);
}

/** What keeps certificate and key from being served, or `undefined` when nothing does. */
export function pairProblem({ cert, key }: KeyPair): { part: 'cert' | 'key'; problem: string } | undefined {
  let x509: X509Certificate;
  try {
    x509 = new X509Certificate(cert);
  } catch {
    return { part: 'cert', problem: 'is not a certificate in PEM' };
  }
  try {
    if (!x509.checkPrivateKey(createPrivateKey(key)))
      return { part: 'key', problem: 'does not belong to the certificate' };
  } catch {
    return { part: 'key', problem: 'is not a private key in PEM without a passphrase' };
  }
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    return { part: 'cert', problem: `cannot be served: ${describeError(error)}` };
  }
  return undefined;
}

function readNames(subjectAltName: string): string[] {
  // Names with commas or quotes would be written as JSON strings; ours have none.
  return subjectAltName
    .split(', ')
    .filter((entry) => entry.startsWith('DNS:') || entry.startsWith('IP Address:'))
    .map((entry) => entry.slice(entry.indexOf(':') + 1))
    .map((name) => (isIPv6(name) ? new SocketAddress({ address: name, family: 'ipv6' }).address : name));
}
