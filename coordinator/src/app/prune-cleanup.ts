import { sleep } from '@rollcall/common/clock.ts';
import { type Lifecycle, stopAndExit } from '@rollcall/common/lifecycle.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { createRegistry } from '@rollcall/common/metrics.ts';
import { UNINSTALL_CLEANUP_NAME, UNINSTALL_NAME } from '@rollcall/common/well-known.ts';
import { type KubeClient, type KubeRequest, KubeStatusError } from '../kube/client.ts';
import { createKubeMetrics } from '../kube/kube-metrics.ts';
import type { KubeObject } from '../kube/objects.ts';
import { realDependencies } from '../kube/runtime-dependencies.ts';
import { kubeClient, type Setup } from './replica-context.ts';

const POLL_MS = 5000;
/** So often in a row the Job must be found done: as a rule Helm deletes the objects meanwhile. */
const POLLS_PRUNED = 4;
const TIMEOUT_MS = 5000;

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const ROLE = `${RBAC}/clusterroles/${UNINSTALL_NAME}`;

/** An object of the uninstallation, as far as its kind has these fields. */
type Found = KubeObject & { rules?: unknown[] | null; status?: { conditions?: { type: string; status: string }[] } };

/**
 * Deletes the objects of the chart's uninstallation that are still there some seconds after its Job has pruned, and exits
 * with 0. It has an account of its own: the one that prunes must not be able to delete its own fence. It deletes no object
 * that is newer than the end of the Job, such as those of another uninstallation.
 */
export async function startPruneCleanup(setup: Setup, logger: Logger, life: Lifecycle): Promise<void> {
  const dependencies = realDependencies(setup.access);
  const client = kubeClient(dependencies, createKubeMetrics(createRegistry('rollcall_coordinator')), logger);
  const objects = objectsIn(setup.environment.ownNamespace);
  let pollsPruned = 0;
  while (!life.signal.aborted) {
    try {
      const found = await readAll(client, objects.all);
      // Read after the others: objects that are there before a Job has ended are not of a later one.
      pollsPruned = isPruned(await read(client, ROLE), await read(client, objects.job)) ? pollsPruned + 1 : 0;
      if (pollsPruned >= POLLS_PRUNED) {
        await deleteAll(client, objects, found);
        logger.info({ objects: found.size }, 'Deleted the objects of the uninstallation');
        return stopAndExit(life, logger, 'cleaned up');
      }
    } catch (err) {
      logger.warn({ err }, 'Failed to clean up; trying again');
    }
    await sleep(dependencies.clock, POLL_MS, life.signal);
  }
}

/**
 * Whether the Job has pruned and ended, for which Helm waits, and must see it. It is complete only after it has pruned. Of
 * one that failed or is gone, only the rights tell: the Job gives them up once it has pruned.
 */
function isPruned(role: Found | undefined, job: Found | undefined): boolean {
  const { conditions = [] } = job?.status ?? {};
  const has = (type: string) => conditions.some((each) => each.type === type && each.status === 'True');
  const gaveUpRights = (role?.rules ?? []).length === 0;
  return has('Complete') || (gaveUpRights && (job === undefined || has('Failed')));
}

type Objects = ReturnType<typeof objectsIn>;

/** Paths of all objects of the uninstallation. */
function objectsIn(namespace: string) {
  const core = `/api/v1/namespaces/${namespace}`;
  const rbac = `${RBAC}/namespaces/${namespace}`;
  const job = `/apis/batch/v1/namespaces/${namespace}/jobs/${UNINSTALL_NAME}`;
  const deleted = [
    `${RBAC}/clusterrolebindings/${UNINSTALL_NAME}`,
    `${ADMISSION}/validatingadmissionpolicybindings/${UNINSTALL_NAME}`,
    `${ADMISSION}/validatingadmissionpolicies/${UNINSTALL_NAME}`,
    `${rbac}/rolebindings/${UNINSTALL_NAME}`,
    `${rbac}/roles/${UNINSTALL_NAME}`,
    `${core}/configmaps/${UNINSTALL_NAME}`,
    `${core}/serviceaccounts/${UNINSTALL_NAME}`,
    ROLE,
    // Last, since it tells that all others may go.
    job,
  ];
  /**
   * Its own objects. It cannot delete them one by one, since each takes the right or the pod to go on. So the garbage
   * collector deletes the dependents of an owner, first those in the cluster, by the rights that are left in the namespace.
   */
  const own = [
    {
      owner: { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' },
      path: `${RBAC}/clusterroles/${UNINSTALL_CLEANUP_NAME}`,
      dependents: [`${RBAC}/clusterrolebindings/${UNINSTALL_CLEANUP_NAME}`],
    },
    {
      owner: { apiVersion: 'apps/v1', kind: 'Deployment' },
      path: `/apis/apps/v1/namespaces/${namespace}/deployments/${UNINSTALL_CLEANUP_NAME}`,
      dependents: [`${rbac}/rolebindings`, `${rbac}/roles`, `${core}/serviceaccounts`].map(
        (resource) => `${resource}/${UNINSTALL_CLEANUP_NAME}`,
      ),
    },
  ];
  const all = [...deleted, ...own.flatMap(({ path, dependents }) => [path, ...dependents])];
  return { job, deleted, own, all };
}

/** Each request names the uid, so that it cannot reach a later object of the same name. */
async function deleteAll(client: KubeClient, { deleted, own }: Objects, found: Map<string, Found>): Promise<void> {
  const remove = async (path: string) => {
    const uid = found.get(path)?.metadata.uid;
    const body = { preconditions: { uid }, propagationPolicy: 'Background' };
    if (uid !== undefined) await send(client, { method: 'DELETE', path, body });
  };
  for (const path of deleted) await remove(path);
  for (const { owner, path, dependents } of own) {
    const { name, uid } = found.get(path)?.metadata ?? {};
    for (const dependent of dependents.filter((each) => uid !== undefined && found.has(each))) {
      const metadata = { uid: found.get(dependent)?.metadata.uid, ownerReferences: [{ ...owner, name, uid }] };
      const contentType = 'application/merge-patch+json';
      await send(client, { method: 'PATCH', path: dependent, body: { metadata }, contentType });
    }
    await remove(path);
  }
}

async function readAll(client: KubeClient, paths: readonly string[]): Promise<Map<string, Found>> {
  const found = new Map<string, Found>();
  for (const path of paths) {
    const object = await read(client, path);
    if (object) found.set(path, object);
  }
  return found;
}

/** Takes an object for deleted that it may not read: its ClusterRole was deleted by an earlier start of it. */
function read(client: KubeClient, path: string): Promise<Found | undefined> {
  return send(client, { method: 'GET', path }, [404, 403]);
}

/** The answer, or `undefined` for one of these statuses. */
async function send(
  client: KubeClient,
  request: Omit<KubeRequest, 'timeoutMs'>,
  absent = [404],
): Promise<Found | undefined> {
  try {
    return await client.request<Found>({ ...request, timeoutMs: TIMEOUT_MS });
  } catch (error) {
    if (error instanceof KubeStatusError && absent.includes(error.status)) return undefined;
    throw error;
  }
}
