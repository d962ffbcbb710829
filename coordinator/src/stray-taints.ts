import { type Clock, sleep } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { Fleet } from './fleet/fleet.ts';
import type { KubeClient } from './kube/client.ts';
import { listPages } from './kube/list-pages.ts';
import type { Node } from './kube/objects.ts';
import type { Service } from './services.ts';

const PAGE_SIZE = 500;
const LIST_TIMEOUT_MS = 60_000;
const LOOK_AGAIN_MS = 30_000;

export type StrayTaintsOptions = {
  client: KubeClient;
  fleet: Fleet;
  services: readonly Service[];
  clock: Clock;
  logger: Logger;
  /** Until this replica no longer leads. */
  signal: AbortSignal;
};

/**
 * Looks for taints of services where none are written: a predecessor, or rollcall with another gate, may have left them,
 * and the watch, which is for metadata only, does not show them. Hands them to the fleet until a list shows none.
 */
export async function findStrayTaints(options: StrayTaintsOptions): Promise<void> {
  const { client, fleet, services, clock, logger, signal } = options;
  const keys = new Set(services.map(({ taint }) => taint));
  const request = {
    path: '/api/v1/nodes',
    selectors: {},
    accept: 'application/json',
    pageSize: PAGE_SIZE,
    timeoutMs: LIST_TIMEOUT_MS,
    signal,
  };
  while (!signal.aborted) {
    let found = 0;
    try {
      await listPages(client, request, (page) => {
        for (const { metadata, spec } of page as Node[]) {
          if (!spec?.taints?.some(({ key }) => keys.has(key))) continue;
          found += 1;
          fleet.noteTaints(metadata.name, metadata.uid, spec.taints);
        }
      });
      if (found === 0) return;
      logger.info({ nodes: found }, 'Found taints that nobody writes any more');
    } catch (err) {
      if (!signal.aborted) logger.warn({ err }, 'Failed to look for taints that nobody writes any more');
    }
    await sleep(clock, LOOK_AGAIN_MS, signal);
  }
}
