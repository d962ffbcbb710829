import type { ObjectMeta } from '../kube/objects.ts';
import { createAuthority, issueLeaf } from './certificate-authority.ts';
import type { KeyPair } from './certificate-holder.ts';
import { type CertificateInfo, isIssuedBy, pairProblem, parseBundle, parseCertificate } from './certificate-info.ts';
import type { LeafFacts, Retirement, RotationPolicy, RotationState, RotationStep } from './rotation.ts';

/** A Secret or a ConfigMap; the values of a Secret are in base64. */
export type DataObject = { metadata: ObjectMeta; data?: Record<string, string>; [field: string]: unknown };

/** What the Secret holds, without what is damaged. */
export type StoredCertificates = {
  leaf?: KeyPair;
  authority?: KeyPair;
  next?: KeyPair;
  /** Authorities that do not sign any more. */
  previous: readonly CertificateInfo[];
  previousUntilMs?: number;
};

export const PREVIOUS_UNTIL_ANNOTATION = 'rollcall.dev/previous-ca-until';
export const PUBLISHED_AT_ANNOTATION = 'rollcall.dev/published-at';

const PREVIOUS_KEY = 'previous-ca.crt';
const PAIRS = [
  ['leaf', 'tls', false],
  ['authority', 'ca', true],
  ['next', 'next-ca', true],
] as const;

/** Keys of the Secret. */
export const CERTIFICATE_KEYS: readonly string[] = [
  ...PAIRS.flatMap(([, key]) => [`${key}.crt`, `${key}.key`]),
  PREVIOUS_KEY,
];

/** Reads the Secret. `problems` says, key by key, what in it cannot be used. */
export function readSecret(secret: DataObject | undefined): { stored: StoredCertificates; problems: string[] } {
  const stored: StoredCertificates = { previous: [] };
  const problems: string[] = [];
  for (const [name, key, isAuthority] of PAIRS) {
    const pair = { cert: decode(secret, `${key}.crt`), key: decode(secret, `${key}.key`) };
    if (pair.cert === '' && pair.key === '') continue;
    const problem = problemOf(pair, key, isAuthority);
    if (problem === undefined) stored[name] = pair;
    else problems.push(problem);
  }
  stored.previous = parseBundle(decode(secret, PREVIOUS_KEY));
  const untilMs = readTime(secret, PREVIOUS_UNTIL_ANNOTATION);
  if (untilMs !== undefined) stored.previousUntilMs = untilMs;
  return { stored, problems };
}

function problemOf(pair: KeyPair, key: string, isAuthority: boolean): string | undefined {
  const problem = pairProblem(pair);
  if (problem) return `${key}.${problem.part === 'cert' ? 'crt' : 'key'} ${problem.problem}`;
  if (isAuthority && !parseCertificate(pair.cert).x509.ca) return `${key}.crt is not an authority`;
  return undefined;
}

/** The Secret with `stored` in it; what else people put there stays. */
export function writeSecret(secret: DataObject, stored: StoredCertificates): DataObject {
  const data = { ...secret.data };
  for (const [name, key] of PAIRS) {
    for (const [part, suffix] of [['cert', 'crt'] as const, ['key', 'key'] as const]) {
      const value = stored[name]?.[part];
      if (value !== undefined) data[`${key}.${suffix}`] = encode(value);
      // A person may have made the Secret with the type that asks for both keys of the leaf, be they empty.
      else if (name === 'leaf') data[`${key}.${suffix}`] = '';
      else delete data[`${key}.${suffix}`];
    }
  }
  delete data[PREVIOUS_KEY];
  if (stored.previous.length > 0) data[PREVIOUS_KEY] = encode(bundleText(stored.previous));
  return { ...secret, data, metadata: withTime(secret.metadata, PREVIOUS_UNTIL_ANNOTATION, stored.previousUntilMs) };
}

/** The certificates as one text, always in the same order. */
function bundleText(certificates: readonly CertificateInfo[]): string {
  const distinct = new Map(certificates.map((info) => [info.fingerprint, info]));
  return [...distinct.values()]
    .sort((a, b) => a.notBeforeMs - b.notBeforeMs || (a.fingerprint < b.fingerprint ? -1 : 1))
    .map(({ pem }) => pem)
    .join('');
}

export type Publication = { certificates: CertificateInfo[]; intact: boolean; sinceMs: number | undefined };

export function readConfigMap(configMap: DataObject | undefined): Publication {
  const text = configMap?.data?.['ca.crt'] ?? '';
  const certificates = parseBundle(text);
  const intact = text === bundleText(certificates);
  return { certificates, intact, sinceMs: readTime(configMap, PUBLISHED_AT_ANNOTATION) };
}

/** What the ConfigMap becomes; without one, the fields to create it with. */
export function publishBundle<T extends Pick<DataObject, 'data'> & { metadata: Partial<ObjectMeta> }>(
  configMap: T,
  certificates: readonly CertificateInfo[],
  nowMs: number,
): T {
  const data = { ...configMap.data, 'ca.crt': bundleText(certificates) };
  return { ...configMap, data, metadata: withTime(configMap.metadata, PUBLISHED_AT_ANNOTATION, nowMs) };
}

/** All that a decision about rotation needs, and the certificates that it names by their fingerprints. */
export type RotationView = { state: RotationState; certificates: ReadonlyMap<string, CertificateInfo> };

/** What this replica serves, and who signed it, as far as it knows. */
export type Served = { pair: KeyPair | undefined; issuer: CertificateInfo | undefined };

/** What is served stands in for a leaf that the Secret has lost: clients go on seeing it until there is a better one. */
export function viewOf(stored: StoredCertificates, served: Served, published: Publication): RotationView {
  const [authority, next] = [stored.authority, stored.next].map((pair) => pair && parseCertificate(pair.cert));
  const authorities = [authority, next, ...stored.previous, ...published.certificates, served.issuer].filter(
    (info) => info !== undefined,
  );
  const leafPair = stored.leaf ?? served.pair;
  return {
    state: {
      leaf: leafPair && {
        ...leafFacts(parseCertificate(leafPair.cert), authorities),
        stored: stored.leaf !== undefined,
      },
      authority,
      next,
      previous: stored.previous,
      previousUntilMs: stored.previousUntilMs,
      published,
    },
    certificates: new Map(authorities.map((info) => [info.fingerprint, info])),
  };
}

function leafFacts(leaf: CertificateInfo, authorities: readonly CertificateInfo[]): Omit<LeafFacts, 'stored'> {
  return { ...leaf, issuer: authorities.find((authority) => isIssuedBy(leaf, authority))?.fingerprint };
}

function decode(secret: DataObject | undefined, key: string): string {
  return Buffer.from(secret?.data?.[key] ?? '', 'base64').toString('utf8');
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64');
}

function readTime(object: DataObject | undefined, annotation: string): number | undefined {
  const ms = Date.parse(object?.metadata.annotations?.[annotation] ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}

function withTime<T extends Partial<ObjectMeta>>(metadata: T, annotation: string, ms: number | undefined): T {
  const annotations = { ...metadata.annotations };
  delete annotations[annotation];
  if (ms !== undefined) annotations[annotation] = new Date(ms).toISOString();
  return { ...metadata, annotations };
}

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
