import { describeError } from '@rollcall/common/coded-error.ts';
import { duration } from '@rollcall/common/duration.ts';
import { CommandFailure } from '../failure.ts';
import { type KubeApi, KubeApiError } from './kube-api.ts';
import { readConfig } from './read-config.ts';

export type Lease = {
  spec?: { holderIdentity?: string; leaseDurationSeconds?: number; renewTime?: string };
};

export type Leader = { pod: string; namespace: string };

const LEASE = 'rollcall-coordinator';

/**
 * The pod that leads, by the Lease. `nowMs` is the time of this machine, which is corrected by the API server's. Throws
 * a CommandFailure that says why there is none.
 */
export async function findLeader(kube: KubeApi, namespace: string, nowMs: number): Promise<Leader> {
  const lease = await readLease(kube, namespace);
  const problem = leadershipProblem(lease, namespace, nowMs + kube.clockAheadMs);
  if (problem) throw new CommandFailure(problem.text, problem.cure);
  return { pod: lease.spec?.holderIdentity?.replace(/_[^_]*$/, '') ?? '', namespace };
}

/** Why no replica leads according to this Lease, and where to look; `undefined` if one does. */
export function leadershipProblem(
  { spec = {} }: Lease,
  namespace: string,
  nowMs: number,
): { text: string; cure: string } | undefined {
  const { holderIdentity = '', leaseDurationSeconds = 15, renewTime } = spec;
  const cure = `see why: kubectl -n ${namespace} logs -l app.kubernetes.io/component=coordinator --tail=20`;
  if (holderIdentity === '') return { text: `No coordinator leads in ${namespace}: the Lease has no holder`, cure };
  const silentMs = renewTime === undefined ? 0 : nowMs - Date.parse(renewTime);
  // Twice as long, as clocks differ.
  if (silentMs <= 2000 * leaseDurationSeconds) return undefined;
  const text = `No coordinator leads in ${namespace}: ${holderIdentity} last renewed the Lease ${duration(silentMs)} ago`;
  return { text, cure };
}

/** By the configuration of the coordinators in this namespace, which may name another Lease. */
export function leaseNameOf(config: Readonly<Record<string, unknown>>): string {
  const { leaseName = LEASE } = config;
  return String(leaseName);
}

export function leasePath(namespace: string, name: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases/${encodeURIComponent(name)}`;
}

async function readLease(kube: KubeApi, namespace: string): Promise<Lease> {
  try {
    return await kube.get<Lease>(leasePath(namespace, LEASE));
  } catch (cause) {
    const name = cause instanceof KubeApiError && cause.status === 404 ? await otherLease(kube, namespace) : LEASE;
    if (name === LEASE) throw leaseFailure(cause, namespace);
    return kube.get<Lease>(leasePath(namespace, name)).catch((again: unknown) => {
      throw leaseFailure(again, namespace, name);
    });
  }
}

/** What may not be read, or is not there, names none. */
async function otherLease(kube: KubeApi, namespace: string): Promise<string> {
  try {
    return leaseNameOf(await readConfig(kube, namespace));
  } catch (error) {
    if (error instanceof KubeApiError) return LEASE;
    throw unreachable(error);
  }
}

function leaseFailure(cause: unknown, namespace: string, name = LEASE): CommandFailure {
  if (!(cause instanceof KubeApiError) || cause.status === 401) return unreachable(cause);
  if (cause.status === 404) {
    const cure =
      'use -n to name the namespace of rollcall, or install it; "check --pre" finds what prevents the installation';
    return new CommandFailure(`rollcall is not in the namespace ${namespace}: there is no Lease ${name}`, cure, {
      cause,
    });
  }
  if (cause.status === 403) {
    const cure = `ask for the right to get leases in ${namespace}, or pass --console-url`;
    return new CommandFailure(`You may not read the Lease of the leader: ${cause.message}`, cure, { cause });
  }
  return new CommandFailure(`The API server answered ${cause.status}: ${cause.message}`, 'try again', { cause });
}

/** There is no API server, or none that knows who asks. */
export function unreachable(cause: unknown): CommandFailure {
  if (cause instanceof KubeApiError && cause.status === 401) {
    return new CommandFailure('The API server does not accept your credentials', 'log in again', { cause });
  }
  const reason = describeError(cause);
  return new CommandFailure(
    `The API server cannot be reached: ${reason}`,
    'check --context and --kubeconfig, and the network',
    {
      cause,
    },
  );
}
