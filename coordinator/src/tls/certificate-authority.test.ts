import { describe, expect, it } from 'vitest';
import { AUTHORITY_LIFE_MS, createAuthority, issueLeaf, LEAF_LIFE_MS } from './certificate-authority.ts';
import { isIssuedBy, pairProblem, parseBundle, parseCertificate } from './certificate-info.ts';

const DAY = 86_400_000;
const nowMs = Date.UTC(2026, 5, 1, 12, 0, 0, 123);
const names = ['rollcall-coordinator.rollcall.svc', 'localhost', '127.0.0.1', '::1'];

describe('an authority', () => {
  it('lives a year, signs certificates, and is like no other', async () => {
    const [a, b] = await Promise.all([createAuthority({ nowMs }), createAuthority({ nowMs })]);
    const info = parseCertificate(a.cert);
    expect(pairProblem(a)).toBeUndefined();
    expect(info.x509.ca).toBe(true);
    expect(info.x509.publicKey.asymmetricKeyDetails?.namedCurve).toBe('prime256v1');
    // A day for clocks that are wrong, in whole seconds.
    expect(info.notBeforeMs).toBe(Math.floor((nowMs - DAY) / 1000) * 1000);
    expect(info.x509.serialNumber).toMatch(/^[4-7][0-9A-F]{31}$/);
    expect(info.x509.serialNumber).not.toBe(parseCertificate(b.cert).x509.serialNumber);
    expect(Math.abs(info.notAfterMs - nowMs - AUTHORITY_LIFE_MS)).toBeLessThan(1000);
    expect(AUTHORITY_LIFE_MS).toBe(365 * DAY);
    expect(parseCertificate(b.cert).x509.subject).not.toBe(info.x509.subject);
  });
});

describe('a leaf', () => {
  it('is made for all names, for ninety days, by its authority and no other', async () => {
    const [authority, other] = await Promise.all([createAuthority({ nowMs }), createAuthority({ nowMs })]);
    const leaf = await issueLeaf(authority, { names, nowMs });
    const info = parseCertificate(leaf.cert);
    expect(pairProblem(leaf)).toBeUndefined();
    expect(info.names.toSorted()).toEqual(['127.0.0.1', '::1', 'localhost', 'rollcall-coordinator.rollcall.svc']);
    expect(info.notBeforeMs).toBe(Math.floor((nowMs - DAY) / 1000) * 1000);
    expect(info.x509.serialNumber).toMatch(/^[4-7][0-9A-F]{31}$/);
    expect(info.x509.ca).toBe(false);
    expect(info.x509.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
    expect(Math.abs(info.notAfterMs - nowMs - LEAF_LIFE_MS)).toBeLessThan(1000);
    expect(isIssuedBy(info, parseCertificate(authority.cert))).toBe(true);
    expect(isIssuedBy(info, parseCertificate(other.cert))).toBe(false);
  });

  it('does not outlive its authority', async () => {
    const authority = await createAuthority({ nowMs });
    const leaf = await issueLeaf(authority, { names, nowMs: nowMs + AUTHORITY_LIFE_MS - DAY });
    expect(parseCertificate(leaf.cert).notAfterMs).toBe(parseCertificate(authority.cert).notAfterMs);
  });
});

describe('pairProblem', () => {
  it('says what is wrong with which of the two', async () => {
    const [a, b] = await Promise.all([createAuthority({ nowMs }), createAuthority({ nowMs })]);
    expect(pairProblem({ cert: a.cert, key: b.key })).toEqual({
      part: 'key',
      problem: 'does not belong to the certificate',
    });
    expect(pairProblem({ cert: 'nonsense', key: a.key })).toMatchObject({ part: 'cert' });
    expect(pairProblem({ cert: '', key: '' })).toMatchObject({ part: 'cert' });
    expect(pairProblem({ cert: a.cert, key: 'nonsense' })).toMatchObject({ part: 'key' });
    const brokenChain = `${a.cert}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`;
    expect(pairProblem({ cert: brokenChain, key: a.key })).toMatchObject({ part: 'cert' });
  });
});

describe('parseBundle', () => {
  it('reads what is whole and leaves out what is damaged', async () => {
    const [a, b] = await Promise.all([createAuthority({ nowMs }), createAuthority({ nowMs })]);
    const damaged = a.cert.replace(/\n(.{10})/, '\nAAAAAAAAAA');
    const text = `# a comment\n${a.cert}\n${damaged}${b.cert.trimEnd()}`;
    expect(parseBundle(text).map(({ pem }) => pem)).toEqual([a.cert, b.cert].map((pem) => parseCertificate(pem).pem));
    expect(parseBundle('')).toEqual([]);
  });
});
