import { CommandFailure } from '../failure.ts';
import { duration } from '../text/duration.ts';
import { type KubeApi, KubeApiError } from './kube-api.ts';

type Lease = {
  spec?: { holderIdentity?: string; leaseDurationSeconds?: number; renewTime?: string };
};

export type Leader = { pod: string; namespace: string };

const LEASE = 'rollcall-coordinator';

/** The pod that leads, by the Lease. Throws a CommandFailure that says why there is none. */
export async function findLeader(kube: KubeApi, namespace: string, nowMs: number): Promise<Leader> {
  const lease = await readLease(kube, namespace);
  const { holderIdentity = '', leaseDurationSeconds = 15, renewTime } = lease.spec ?? {};
  const logs = `kubectl -n ${namespace} logs -l app.kubernetes.io/component=coordinator --tail=20`;
  if (holderIdentity === '') {
    throw new CommandFailure(`No coordinator leads in ${namespace}: the Lease has no holder`, `see why: ${logs}`);
  }
  const silentMs = renewTime === undefined ? 0 : nowMs - Date.parse(renewTime);
  // Twice as long, as clocks differ.
  if (silentMs > 2000 * leaseDurationSeconds) {
    const message = `No coordinator leads in ${namespace}: ${holderIdentity} last renewed the Lease ${duration(silentMs)} ago`;
    throw new CommandFailure(message, `see why: ${logs}`);
  }
  return { pod: holderIdentity.replace(/_[^_]*$/, ''), namespace };
}

async function readLease(kube: KubeApi, namespace: string): Promise<Lease> {
  try {
    return await kube.get<Lease>(
      `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases/${LEASE}`,
    );
  } catch (cause) {
    throw leaseFailure(cause, namespace);
  }
}

function leaseFailure(cause: unknown, namespace: string): CommandFailure {
  if (!(cause instanceof KubeApiError)) return unreachable(cause);
  if (cause.status === 404) {
    const cure =
      'name the namespace that it is installed in with -n, or install it; "check --pre" says whether it can be';
    return new CommandFailure(`rollcall is not in the namespace ${namespace}: there is no Lease ${LEASE}`, cure, {
      cause,
    });
  }
  if (cause.status === 403) {
    const cure = `have somebody grant you "get" on leases in ${namespace}, or reach the console yourself and pass --console-url`;
    return new CommandFailure(`You may not read who leads: ${cause.message}`, cure, { cause });
  }
  if (cause.status === 401) {
    return new CommandFailure('The API server does not accept your credentials', 'log in again', { cause });
  }
  return new CommandFailure(`The API server answered ${cause.status}: ${cause.message}`, 'try again', { cause });
}

export function unreachable(cause: unknown): CommandFailure {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new CommandFailure(
    `The API server cannot be reached: ${reason}`,
    'check --context and --kubeconfig, and the network',
    {
      cause,
    },
  );
}
