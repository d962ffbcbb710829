import { expect, it } from 'vitest';
import { ISSUER_CERTIFICATE, ROOT_CERTIFICATE } from './testing/certificates.ts';
import { TlsContexts, type TlsTrust } from './tls-contexts.ts';

function trust(contexts: TlsContexts, bundle?: string): TlsTrust {
  const found = contexts.of(bundle);
  if (typeof found === 'string') throw new Error(found);
  return found;
}

it('makes one context for each distinct bundle, when it is first used', () => {
  const contexts = new TlsContexts();
  const [first, second, other, none] = contexts.renew(() =>
    [ROOT_CERTIFICATE, ROOT_CERTIFICATE, ISSUER_CERTIFICATE, undefined].map((bundle) => trust(contexts, bundle)),
  );
  expect(first).toBe(second);
  expect(new Set([first, other, none]).size).toBe(3);
  expect([first?.isVerified, none?.isVerified]).toEqual([true, false]);
  expect(first?.context()).toBe(first?.context());
  expect(first?.context()).not.toBe(other?.context());
});

it('keeps the context of a bundle that is asked for again, and forgets the others', () => {
  const contexts = new TlsContexts();
  const before = contexts.renew(() => [trust(contexts, ROOT_CERTIFICATE), trust(contexts, ISSUER_CERTIFICATE)]);
  contexts.renew(() => expect(trust(contexts, ROOT_CERTIFICATE)).toBe(before[0]));
  contexts.renew(() => {
    expect(trust(contexts, ROOT_CERTIFICATE)).toBe(before[0]);
    expect(trust(contexts, ISSUER_CERTIFICATE)).not.toBe(before[1]);
  });
});

it('says what is wrong with a bundle', () => {
  expect(new TlsContexts().of('-----BEGIN nothing')).toBe('its caBundle contains no certificate');
});
