import { createAuthority, issueLeaf } from './certificate-authority.ts';
import type { KeyPair } from './certificate-holder.ts';
import type { CertificateInfo } from './certificate-info.ts';
import type { Retirement, RotationPolicy, RotationStep } from './rotation.ts';
import type { RotationView, StoredCertificates } from './stored-certificates.ts';

/** What one step of the rotation writes: one of the two objects, never both. */
export type Change = { secret: StoredCertificates } | { bundle: readonly CertificateInfo[] };

export type Circumstances = {
  stored: StoredCertificates;
  /** What is served goes back into a Secret that has lost it. */
  served: KeyPair | undefined;
  view: RotationView;
  policy: RotationPolicy;
  nowMs: number;
};

/** Makes the keys and certificates that `step` asks for. Writes nothing. */
export async function carryOut(
  step: Exclude<RotationStep, { action: 'wait' }>,
  { stored, served, view, policy, nowMs }: Circumstances,
): Promise<Change> {
  if (step.action === 'publish') return { bundle: pick(view, step.fingerprints) };
  const leaf = stored.leaf ?? served;
  const kept: StoredCertificates = leaf ? { ...stored, leaf } : stored;
  if (step.action === 'introduce-authority') return { secret: { ...kept, next: await createAuthority({ nowMs }) } };
  if (step.action === 'forget-previous') {
    const { previousUntilMs: _, ...rest } = kept;
    return { secret: { ...rest, previous: [] } };
  }
  const authority = step.action === 'sign-leaf' ? stored[step.by] : await createAuthority({ nowMs });
  if (!authority) throw new Error(`There is no authority to ${step.action}`);
  const next = step.action === 'sign-leaf' && step.by === 'authority' ? stored.next : undefined;
  return {
    secret: {
      leaf: await issueLeaf(authority, { names: policy.names, nowMs }),
      authority,
      ...(next ? { next } : {}),
      ...retired(view, step),
    },
  };
}

function pick({ certificates }: RotationView, fingerprints: readonly string[]): CertificateInfo[] {
  return fingerprints.map((fingerprint) => certificates.get(fingerprint)).filter((info) => info !== undefined);
}

function retired(view: RotationView, { previous, previousUntilMs }: Retirement) {
  return { previous: pick(view, previous), ...(previousUntilMs === undefined ? {} : { previousUntilMs }) };
}
