import { sleep } from '@rollcall/common/clock.ts';
import { type Lifecycle, stopAndExit } from '@rollcall/common/lifecycle.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { createRegistry } from '@rollcall/common/metrics.ts';
import { UNINSTALL_CLEANUP_NAME, UNINSTALL_NAME } from '@rollcall/common/well-known.ts';
import { type KubeClient, KubeStatusError, mayBeGone } from '../kube/client.ts';
import { createKubeMetrics } from '../kube/kube-metrics.ts';
import type { KubeObject } from '../kube/objects.ts';
import { realDependencies } from '../kube/runtime-dependencies.ts';
import { kubeClient, type Setup } from './replica-context.ts';

const POLL_MS = 5000;
/** So often in a row the Job must be found ended: as a rule Helm deletes the objects meanwhile. */
const POLLS_ENDED = 4;
const TIMEOUT_MS = 5000;

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';

/** An object of the uninstallation, as far as its kind has these fields. */
type Found = KubeObject & { status?: { conditions?: { type: string; status: string }[] } };

/**
 * Deletes the objects of the chart's uninstallation that are still there some seconds after its Job is complete, and exits
 * with 0. It has an account of its own: the one that prunes must not be able to delete its own fence. It deletes no object
 * that is newer than the end of the Job, such as those of another uninstallation.
 */
export async function startPruneCleanup(setup: Setup, logger: Logger, life: Lifecycle): Promise<void> {
  const dependencies = realDependencies(setup.access);
  const { clock } = dependencies;
  const client = kubeClient(dependencies, createKubeMetrics(createRegistry('rollcall_coordinator')), logger);
  const objects = objectsIn(setup.environment.ownNamespace);
  let pollsEnded = 0;
  let found = new Map<string, Found>();
  while (!life.signal.aborted) {
    try {
      if (pollsEnded === 0) found = await readAll(client, objects.all);
      // Read after the others: objects that are there before a Job has ended are not of a later one.
      pollsEnded = hasEnded(await read(client, objects.job, [404])) ? pollsEnded + 1 : 0;
      if (pollsEnded >= POLLS_ENDED) {
        // The fence goes with the others, one poll after the rights, which an API server may hold for valid a little longer.
        if (found.has(objects.rights)) await remove(client, objects.rights, found);
        else {
          await removeOthers(client, objects, found);
          logger.info('Deleted the objects of the uninstallation');
          return stopAndExit(life, logger, 'cleaned up');
        }
      }
    } catch (err) {
      logger.warn({ err }, 'Failed to clean up; trying again');
    }
    await sleep(clock, POLL_MS, life.signal);
  }
}

/** Whether the Job is complete, which it is only after it has pruned, or gone. One that failed keeps its rights and its fence. */
function hasEnded(job: Found | undefined): boolean {
  const { conditions = [] } = job?.status ?? {};
  return job === undefined || conditions.some(({ type, status }) => type === 'Complete' && status === 'True');
}

type Objects = ReturnType<typeof objectsIn>;

/** Paths of all objects of the uninstallation. */
function objectsIn(namespace: string) {
  const core = `/api/v1/namespaces/${namespace}`;
  const rbac = `${RBAC}/namespaces/${namespace}`;
  const job = `/apis/batch/v1/namespaces/${namespace}/jobs/${UNINSTALL_NAME}`;
  const rights = `${RBAC}/clusterrolebindings/${UNINSTALL_NAME}`;
  const others = [
    `${ADMISSION}/validatingadmissionpolicybindings/${UNINSTALL_NAME}`,
    `${ADMISSION}/validatingadmissionpolicies/${UNINSTALL_NAME}`,
    `${rbac}/rolebindings/${UNINSTALL_NAME}`,
    `${rbac}/roles/${UNINSTALL_NAME}`,
    `${core}/configmaps/${UNINSTALL_NAME}`,
    `${core}/serviceaccounts/${UNINSTALL_NAME}`,
    `${RBAC}/clusterroles/${UNINSTALL_NAME}`,
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
  const all = [rights, ...others, ...own.flatMap(({ path, dependents }) => [path, ...dependents])];
  return { job, rights, others, own, all };
}

async function removeOthers(client: KubeClient, { others, own }: Objects, found: Map<string, Found>): Promise<void> {
  for (const path of others) await remove(client, path, found);
  for (const { owner, path, dependents } of own) {
    const { name, uid } = found.get(path)?.metadata ?? {};
    for (const dependent of dependents.filter((each) => uid !== undefined && found.has(each))) {
      const metadata = { uid: found.get(dependent)?.metadata.uid, ownerReferences: [{ ...owner, name, uid }] };
      const contentType = 'application/merge-patch+json';
      const body = { metadata };
      await unlessGone(client.request({ method: 'PATCH', path: dependent, body, contentType, timeoutMs: TIMEOUT_MS }));
    }
    await remove(client, path, found);
  }
}

/** Deletes an object that was found, and takes it out of `found`. By its uid, so that no later one of its name is reached. */
async function remove(client: KubeClient, path: string, found: Map<string, Found>): Promise<void> {
  const uid = found.get(path)?.metadata.uid;
  if (uid === undefined) return;
  const body = { preconditions: { uid }, propagationPolicy: 'Background' };
  await unlessGone(client.request({ method: 'DELETE', path, body, timeoutMs: TIMEOUT_MS }));
  found.delete(path);
}

async function unlessGone(request: Promise<unknown>): Promise<void> {
  await request.catch((error: unknown) => {
    if (!mayBeGone(error)) throw error;
  });
}

/** Takes an object for deleted that it may not read: its ClusterRole was deleted by an earlier start of it. */
async function readAll(client: KubeClient, paths: readonly string[]): Promise<Map<string, Found>> {
  const found = new Map<string, Found>();
  for (const path of paths) {
    const object = await read(client, path, [404, 403]);
    if (object) found.set(path, object);
  }
  return found;
}

/** The object, or `undefined` for an answer with one of these statuses. */
async function read(client: KubeClient, path: string, absent: readonly number[]): Promise<Found | undefined> {
  try {
    return await client.request<Found>({ method: 'GET', path, timeoutMs: TIMEOUT_MS });
  } catch (error) {
    if (error instanceof KubeStatusError && absent.includes(error.status)) return undefined;
    throw error;
  }
}
