import { AUTHORITY_LIFE_MS, LEAF_LIFE_MS } from './certificate-authority.ts';

/** The part of a certificate that decides about its rotation. Times are milliseconds since the epoch. */
export type CertificateFacts = { fingerprint: string; notBeforeMs: number; notAfterMs: number };

export type LeafFacts = CertificateFacts & {
  names: readonly string[];
  /** Fingerprint of the authority that signed it; `undefined` when that is none of those known here. */
  issuer: string | undefined;
  /** Whether the Secret holds it; otherwise it is only known to be served. */
  stored: boolean;
};

/** What is stored, with everything left out that is damaged: a certificate without its key counts as absent. */
export type RotationState = {
  /** What is served. */
  leaf: LeafFacts | undefined;
  /** The authority that signs. */
  authority: CertificateFacts | undefined;
  /** The one that will sign as soon as all clients can know it. */
  next: CertificateFacts | undefined;
  /** Authorities that do not sign any more, but whose leaves may still be served by a replica that lags. */
  previous: readonly CertificateFacts[];
  previousUntilMs: number | undefined;
  /** What clients are told to trust. */
  published: {
    certificates: readonly CertificateFacts[];
    /** Nothing else is in it. */
    intact: boolean;
    /** Since when it has been as it is; `undefined` if that is unknown. */
    sinceMs: number | undefined;
  };
};

export type RotationPolicy = {
  /** What the leaf must be made for. */
  names: readonly string[];
  /** How long it may take until all clients have read a bundle that was published. */
  propagationMs: number;
};

/** Authorities that go out of use, by fingerprint, and how long they stay published. */
export type Retirement = { previous: readonly string[]; previousUntilMs: number | undefined };

export type RotationStep =
  | { action: 'wait'; untilMs: number }
  /** Make an authority and a leaf of it, and use both at once: nothing that exists can be used. */
  | ({ action: 'start-anew'; reason: string } & Retirement)
  /** Make the next authority and store it. */
  | { action: 'introduce-authority'; reason: string }
  /** Let an authority sign a new leaf; the next one takes the place of the present one. */
  | ({ action: 'sign-leaf'; by: 'authority' | 'next'; reason: string } & Retirement)
  | { action: 'forget-previous' }
  /** Publish the certificates with these fingerprints, and nothing else. */
  | { action: 'publish'; fingerprints: readonly string[]; reason: string };

/** A certificate is renewed when this share of its life is over. */
const RENEW_AT = 2 / 3;

/**
 * Returns the next step for the certificates, based only on what is stored: a new leader can go on from wherever its
 * predecessor stopped. The law behind it: a client that holds any bundle that was current within the propagation time
 * trusts what is served. Therefore a new authority is published first and signs later, and an old one stays published
 * for as long as a leaf of it may live. It is broken only where nothing can be served otherwise.
 */
export function nextStep(state: RotationState, policy: RotationPolicy, nowMs: number): RotationStep {
  const { leaf, authority, next } = alive(state, nowMs);
  if (!leaf) return replaceLostLeaf({ ...state, authority, next }, nowMs);
  if (state.previous.length > 0 && nowMs >= (state.previousUntilMs ?? 0)) return { action: 'forget-previous' };
  const current: RotationState = { ...state, leaf, authority, next };
  const publication = publish(current, policy, nowMs);
  if (publication) return publication;
  return (
    rotateAuthority(current, policy, nowMs) ??
    renewLeaf(current, policy, nowMs) ?? { action: 'wait', untilMs: nextDueMs(current, policy, nowMs) }
  );
}

function alive({ leaf, authority, next }: RotationState, nowMs: number) {
  const ifAlive = <T extends CertificateFacts>(facts: T | undefined) =>
    facts && isAlive(facts, nowMs) ? facts : undefined;
  // No client trusts a leaf of an unknown authority.
  const trusted = leaf?.issuer === undefined ? undefined : leaf;
  return { leaf: ifAlive(trusted), authority: ifAlive(authority), next: ifAlive(next) };
}

/** There is no certificate to serve, so signing at once makes it worse for no client. */
function replaceLostLeaf(state: RotationState, nowMs: number): RotationStep {
  const reason = 'there is no usable certificate';
  const known = { ...state, leaf: undefined };
  if (state.authority)
    return { action: 'sign-leaf', by: 'authority', reason, ...retire(known, state.authority, nowMs) };
  if (state.next) return { action: 'sign-leaf', by: 'next', reason, ...retire(known, state.next, nowMs) };
  const published = state.published.certificates.filter((facts) => isAlive(facts, nowMs));
  const retirement = retire({ ...known, previous: [...known.previous, ...published] }, undefined, nowMs);
  return { action: 'start-anew', reason: 'there is neither a usable certificate nor an authority', ...retirement };
}

function publish(state: RotationState, policy: RotationPolicy, nowMs: number): RotationStep | undefined {
  const { published, leaf, authority, next, previous } = state;
  const wanted = new Set<string>();
  if (leaf?.issuer) wanted.add(leaf.issuer);
  for (const facts of [authority, next, ...previous]) if (facts && isAlive(facts, nowMs)) wanted.add(facts.fingerprint);
  const reason = publicationFault(published, wanted, nowMs + policy.propagationMs);
  return reason === undefined ? undefined : { action: 'publish', fingerprints: [...wanted], reason };
}

function publicationFault(
  { certificates, intact, sinceMs }: RotationState['published'],
  wanted: ReadonlySet<string>,
  latestMs: number,
): string | undefined {
  const present = new Set(certificates.map(({ fingerprint }) => fingerprint));
  if (!wanted.isSubsetOf(present)) return 'an authority is not published';
  if (!intact || present.size !== wanted.size) return 'something else is published';
  // A time far in the future is of a clock that was wrong, and would keep everything waiting for it.
  if (sinceMs === undefined || sinceMs > latestMs) return 'the time of publication is not known';
  return undefined;
}

function rotateAuthority(state: RotationState, policy: RotationPolicy, nowMs: number): RotationStep | undefined {
  const { authority, next } = state;
  if (authority && nowMs < renewAuthorityAtMs(authority)) return undefined;
  const reason = authority ? 'the authority is due for renewal' : 'the authority cannot sign';
  if (!next) return { action: 'introduce-authority', reason };
  if (nowMs < propagatedAtMs(state, policy)) return undefined;
  return { action: 'sign-leaf', by: 'next', reason, ...retire(state, next, nowMs) };
}

function renewLeaf(state: RotationState, policy: RotationPolicy, nowMs: number): RotationStep | undefined {
  const { leaf, authority } = state;
  if (!leaf || !authority) return undefined;
  const reason = renewalReason(leaf, authority, policy, nowMs);
  if (reason === undefined) return undefined;
  // If the authority was replaced, clients must have had the time to learn the new one.
  if (leaf.issuer !== authority.fingerprint && nowMs < propagatedAtMs(state, policy)) return undefined;
  return { action: 'sign-leaf', by: 'authority', reason, ...retire(state, authority, nowMs) };
}

function renewalReason(
  leaf: LeafFacts,
  authority: CertificateFacts,
  { names }: RotationPolicy,
  nowMs: number,
): string | undefined {
  if (leaf.issuer !== authority.fingerprint) return 'the certificate is of another authority';
  if (!leaf.stored) return 'the stored certificate is gone';
  if (names.some((name) => !leaf.names.includes(name))) return 'the certificate lacks a name';
  if (nowMs >= renewAtMs(leaf)) return 'the certificate is due for renewal';
  return undefined;
}

/** Who stays published beside `signer`, and until the last leaf that they may have signed has expired. */
function retire(state: RotationState, signer: CertificateFacts | undefined, nowMs: number): Retirement {
  const { leaf, authority, previous, previousUntilMs = 0 } = state;
  const retired = new Set<string>();
  if (leaf?.issuer) retired.add(leaf.issuer);
  for (const facts of [authority, ...previous]) if (facts && isAlive(facts, nowMs)) retired.add(facts.fingerprint);
  if (signer) retired.delete(signer.fingerprint);
  if (retired.size === 0) return { previous: [], previousUntilMs: undefined };
  // A leaf of the signer itself, which is only renewed, keeps no authority published for longer.
  const isOfRetired = leaf?.issuer !== undefined && retired.has(leaf.issuer);
  const lastLeafMs = isOfRetired ? leaf.notAfterMs : leaf ? 0 : nowMs + LEAF_LIFE_MS;
  return { previous: [...retired], previousUntilMs: Math.max(previousUntilMs, lastLeafMs) };
}

function nextDueMs(state: RotationState, policy: RotationPolicy, nowMs: number): number {
  const { leaf, authority, previous, previousUntilMs } = state;
  const dueMs: number[] = [];
  if (leaf) dueMs.push(renewAtMs(leaf), leaf.notAfterMs);
  if (authority) dueMs.push(renewAuthorityAtMs(authority), authority.notAfterMs);
  if (previous.length > 0 && previousUntilMs !== undefined) dueMs.push(previousUntilMs);
  dueMs.push(propagatedAtMs(state, policy));
  return Math.min(...dueMs.filter((ms) => ms > nowMs));
}

function propagatedAtMs({ published }: RotationState, { propagationMs }: RotationPolicy): number {
  return (published.sinceMs ?? 0) + propagationMs;
}

function renewAtMs({ notBeforeMs, notAfterMs }: CertificateFacts): number {
  return notBeforeMs + (notAfterMs - notBeforeMs) * RENEW_AT;
}

/** An authority that is valid for longer is replaced as soon as one of ours would be. */
function renewAuthorityAtMs({ notBeforeMs, notAfterMs }: CertificateFacts): number {
  return notBeforeMs + Math.min(notAfterMs - notBeforeMs, AUTHORITY_LIFE_MS) * RENEW_AT;
}

function isAlive({ notBeforeMs, notAfterMs }: CertificateFacts, nowMs: number): boolean {
  return notBeforeMs <= nowMs && nowMs < notAfterMs;
}
