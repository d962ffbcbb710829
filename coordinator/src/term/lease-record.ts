import {
  FIELD_MANAGER,
  LEADER_CONSOLE_URL_ANNOTATION,
  LEADER_SCHEDULER_URL_ANNOTATION,
  LEADER_URL_ANNOTATION,
} from '@rollcall/common/well-known.ts';
import {
  applyObject,
  getObject,
  isConflict,
  isNotFound,
  type ObjectRef,
  replaceObject,
  type StoredObject,
} from '../kube/apply-object.ts';
import type { KubeClient } from '../kube/client.ts';

export type LeaseSpec = {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  /** RFC 3339 with microseconds, by the holder's wall clock: for people. */
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
  [field: string]: unknown;
};

export type Lease = StoredObject & { spec?: LeaseSpec };

/** The fields that a candidate writes. */
export type Candidate = {
  identity: string;
  leaderUrl: string;
  /** Empty if it does not answer kube-scheduler. */
  schedulerUrl: string;
  /** Empty if others cannot reach its console. */
  consoleUrl: string;
  leaseDurationMs: number;
};

/** Addresses of the holder, as far as the record has them. */
export type Whereabouts = {
  url: string | undefined;
  schedulerUrl: string | undefined;
  consoleUrl: string | undefined;
};

export function whereabouts({ metadata: { annotations = {} } }: Lease): Whereabouts {
  const {
    [LEADER_URL_ANNOTATION]: url,
    [LEADER_SCHEDULER_URL_ANNOTATION]: schedulerUrl,
    [LEADER_CONSOLE_URL_ANNOTATION]: consoleUrl,
  } = annotations;
  return { url, schedulerUrl, consoleUrl };
}

/**
 * - `unclaimed`: it never had a holder, as after its creation
 * - `released`: its holder gave it up in order
 * - `held`: by `holder`, or by an unknown replica if that is absent because a person has taken the name out
 */
export type LeaseState =
  | { state: 'unclaimed' }
  | { state: 'released' }
  | { state: 'held'; holder: string | undefined; durationMs: number };

export function leaseState({ spec = {} }: Lease): LeaseState {
  const holder = spec.holderIdentity || undefined;
  const durationMs = Math.max(0, spec.leaseDurationSeconds ?? 0) * 1000;
  if (holder === undefined && !spec.renewTime) return { state: 'unclaimed' };
  // client-go releases in the same way: no holder, and a lease of one second.
  if (holder === undefined && durationMs <= 1000) return { state: 'released' };
  return { state: 'held', holder, durationMs };
}

/** A record that names no holder and was not released: it was made anew, or a person took a name out. */
export function isWithoutHolder(lease: Lease): boolean {
  const state = leaseState(lease);
  return state.state === 'unclaimed' || (state.state === 'held' && state.holder === undefined);
}

/** Two records with equal fingerprints say the same. Metadata that others may touch is no part of it. */
export function fingerprint(lease: Lease): string {
  const { holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions } = lease.spec ?? {};
  const times = [leaseDurationSeconds, acquireTime, renewTime, leaseTransitions];
  return JSON.stringify([holderIdentity, times, whereabouts(lease)]);
}

/** The record with which `candidate` takes the Lease over, as the holder of `term`. */
export function acquired(lease: Lease, candidate: Candidate, term: number, time: string): Lease {
  return held(lease, candidate, { acquireTime: time, renewTime: time, leaseTransitions: term });
}

export function renewed(lease: Lease, candidate: Candidate, term: number, time: string): Lease {
  const acquireTime = lease.spec?.acquireTime ?? time;
  return held(lease, candidate, { acquireTime, renewTime: time, leaseTransitions: term });
}

export function released(lease: Lease, time: string): Lease {
  return {
    ...lease,
    metadata: { ...lease.metadata, annotations: annotationsOfOthers(lease) },
    spec: { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: time },
  };
}

function annotationsOfOthers({ metadata }: Lease): Record<string, string> {
  const {
    [LEADER_URL_ANNOTATION]: _url,
    [LEADER_SCHEDULER_URL_ANNOTATION]: _schedulerUrl,
    [LEADER_CONSOLE_URL_ANNOTATION]: _consoleUrl,
    ...annotations
  } = metadata.annotations ?? {};
  return annotations;
}

function held(lease: Lease, candidate: Candidate, times: LeaseSpec): Lease {
  const { leaderUrl, schedulerUrl, consoleUrl } = candidate;
  const annotations: Record<string, string> = { ...annotationsOfOthers(lease), [LEADER_URL_ANNOTATION]: leaderUrl };
  if (schedulerUrl !== '') annotations[LEADER_SCHEDULER_URL_ANNOTATION] = schedulerUrl;
  if (consoleUrl !== '') annotations[LEADER_CONSOLE_URL_ANNOTATION] = consoleUrl;
  return {
    ...lease,
    metadata: { ...lease.metadata, annotations },
    spec: {
      ...lease.spec,
      holderIdentity: candidate.identity,
      leaseDurationSeconds: Math.round(candidate.leaseDurationMs / 1000),
      ...times,
    },
  };
}

/**
 * Kubernetes' MicroTime. The digits below the millisecond are `counter`, so that two renewals never look alike: a
 * standby recognises a renewal by the change of this value, and the wall clock may have been set back in between.
 */
export function microTime(epochMs: number, counter: number): string {
  const micros = String(counter % 1000).padStart(3, '0');
  return new Date(epochMs).toISOString().replace('Z', `${micros}Z`);
}

/** Labels of a Lease that a candidate makes. */
export const LEASE_LABELS = { 'app.kubernetes.io/managed-by': FIELD_MANAGER };

const REQUEST_TIMEOUT_MS = 5000;

/** The one Lease, as the API server keeps it. Every method throws like `KubeClient.request`. */
export class LeaseStore {
  readonly ref: ObjectRef;
  readonly #client: KubeClient;
  readonly #stop = new AbortController();

  constructor(client: KubeClient, namespace: string, name: string) {
    this.ref = { kind: 'Lease', namespace, name };
    this.#client = client;
  }

  get(timeoutMs = REQUEST_TIMEOUT_MS): Promise<Lease | undefined> {
    return getObject<Lease>(this.#client, this.ref, { timeoutMs, signal: this.#stop.signal });
  }

  /**
   * Creates it without a holder, if need be, by an apply: RBAC can permit that by name, and several candidates that do
   * it do not disturb each other. Whose it becomes is decided by `replace`.
   */
  create(): Promise<Lease> {
    // An apply of nothing at all would write when it is repeated, because no field would have an owner yet.
    const fields = { metadata: { labels: LEASE_LABELS } };
    const limits = { timeoutMs: REQUEST_TIMEOUT_MS, signal: this.#stop.signal };
    return applyObject<Lease>(this.#client, this.ref, fields, limits);
  }

  /** Returns the new Lease; `undefined` if the Lease changed since `record` was made, and nothing was written. */
  async replace(record: Lease, limitMs = REQUEST_TIMEOUT_MS): Promise<Lease | undefined> {
    const limits = { timeoutMs: Math.min(limitMs, REQUEST_TIMEOUT_MS), signal: this.#stop.signal };
    try {
      return await replaceObject(this.#client, this.ref, record, limits);
    } catch (err) {
      if (isConflict(err) || isNotFound(err)) return undefined;
      throw err;
    }
  }

  /** Cuts off the requests under way. */
  abort(): void {
    this.#stop.abort();
  }
}
