import { expect } from 'vitest';
import { AUTHORITY_LIFE_MS, LEAF_LIFE_MS } from './certificate-authority.ts';
import { type CertificateFacts, nextStep, type RotationState, type RotationStep } from './rotation.ts';

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
export const PROPAGATION_MS = 600_000;
export const NAMES = ['rollcall-coordinator.rollcall.svc'];

type Leaf = NonNullable<RotationState['leaf']>;
export type Secret = Pick<RotationState, 'leaf' | 'authority' | 'next' | 'previous' | 'previousUntilMs'>;
type Publication = { fingerprints: string[]; sinceMs: number | undefined; intact: boolean };

export const EMPTY: Secret = {
  leaf: undefined,
  authority: undefined,
  next: undefined,
  previous: [],
  previousUntilMs: undefined,
};

/** What the steps do to the two objects, with certificates that are no more than names and times. */
export class World {
  nowMs = Date.UTC(2026, 0, 1);
  secret: Secret | undefined;
  configMap: Publication | undefined;
  names = NAMES;
  /** What the leader serves, out of its memory. */
  served: Leaf | undefined;
  /** Who signed it, in the same memory. */
  servedIssuer: string | undefined;
  /** Bundles that clients may hold, with the time from which on they could read them. */
  readonly bundles: { fromMs: number; fingerprints: readonly string[] }[] = [];
  readonly log: string[] = [];
  readonly #certificates = new Map<string, CertificateFacts>();
  #count = 0;

  state(): RotationState {
    const secret = this.secret ?? EMPTY;
    const certificates = (this.configMap?.fingerprints ?? []).flatMap((each) => this.#certificates.get(each) ?? []);
    const known = [secret.authority, secret.next, ...secret.previous, ...certificates].map((each) => each?.fingerprint);
    known.push(this.servedIssuer);
    const leaf = secret.leaf ?? this.served;
    return {
      ...secret,
      leaf: leaf && {
        ...leaf,
        issuer: known.find((each) => each === leaf.issuer),
        stored: secret.leaf !== undefined,
      },
      published: { certificates, intact: this.configMap?.intact ?? true, sinceMs: this.configMap?.sinceMs },
    };
  }

  step(): RotationStep {
    return nextStep(this.state(), { names: this.names, propagationMs: PROPAGATION_MS }, this.nowMs);
  }

  /** Takes steps until there is nothing to do, and returns until when. */
  settle(): number {
    for (let count = 0; count < 20; count += 1) {
      this.serve();
      const step = this.step();
      if (step.action === 'wait') {
        expect(step.untilMs).toBeGreaterThan(this.nowMs);
        return step.untilMs;
      }
      this.log.push(step.action);
      this.take(step);
    }
    throw new Error(`no rest: ${this.log.slice(-20).join(', ')}`);
  }

  serve(): void {
    const leaf = this.secret?.leaf;
    if (leaf && (leaf.notAfterMs > this.nowMs || !this.served)) this.served = leaf;
    if (this.#certificates.has(this.served?.issuer ?? '')) this.servedIssuer = this.served?.issuer;
  }

  take(step: Exclude<RotationStep, { action: 'wait' }>): void {
    const secret = this.secret ?? EMPTY;
    const leaf = secret.leaf ?? this.served;
    switch (step.action) {
      case 'publish':
        this.publish(step.fingerprints);
        return;
      case 'introduce-authority':
        this.secret = { ...secret, leaf, next: this.make('ca', AUTHORITY_LIFE_MS) };
        return;
      case 'forget-previous':
        this.secret = { ...secret, leaf, previous: [], previousUntilMs: undefined };
        return;
      default:
        this.secret = this.signed(secret, step);
    }
  }

  signed(secret: Secret, step: Extract<RotationStep, { action: 'sign-leaf' | 'start-anew' }>): Secret {
    const authority = step.action === 'start-anew' ? this.make('ca', AUTHORITY_LIFE_MS) : secret[step.by];
    if (!authority) throw new Error('no authority to sign with');
    const end = Math.min(this.nowMs + LEAF_LIFE_MS, authority.notAfterMs);
    const leaf = {
      ...this.make('leaf', end - this.nowMs),
      names: this.names,
      issuer: authority.fingerprint,
      stored: true,
    };
    const previous = step.previous.flatMap((each) => this.#certificates.get(each) ?? []);
    const next = step.action === 'sign-leaf' && step.by === 'authority' ? secret.next : undefined;
    return { leaf, authority, next, previous, previousUntilMs: step.previousUntilMs };
  }

  publish(fingerprints: readonly string[]): void {
    this.configMap = { fingerprints: [...fingerprints], sinceMs: this.nowMs, intact: true };
    this.bundles.push({ fromMs: this.nowMs, fingerprints });
  }

  make(kind: string, lifeMs: number): CertificateFacts {
    const fingerprint = `${kind}-${++this.#count}`;
    const facts = { fingerprint, notBeforeMs: this.nowMs - HOUR, notAfterMs: this.nowMs + lifeMs };
    this.#certificates.set(fingerprint, facts);
    return facts;
  }

  /** Bundles that were current at some moment of the propagation time that ends now. */
  bundlesInHand(): (readonly string[])[] {
    return this.bundles
      .filter((_, index) => (this.bundles[index + 1]?.fromMs ?? Infinity) > this.nowMs - PROPAGATION_MS)
      .map(({ fingerprints }) => fingerprints);
  }

  /** Whether some client that reads bundles in time refuses what is served. */
  isRefused(leaf = this.served): boolean {
    if (!leaf || leaf.notAfterMs <= this.nowMs) return true;
    return this.bundlesInHand().some((bundle) => !bundle.includes(leaf.issuer ?? ''));
  }

  /** Goes on from one due time to the next until `endMs`. */
  live(endMs: number, check: () => void): void {
    for (let count = 0; this.nowMs < endMs; count += 1) {
      if (count > 5000) throw new Error(`no end: ${JSON.stringify(this.step())}`);
      const dueMs = this.settle();
      check();
      this.nowMs = Math.min(dueMs, endMs);
      check();
    }
  }
}
