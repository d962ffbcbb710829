import { Backoff } from '@rollcall/common/backoff.ts';
import { type Clock, sleep } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { Fleet } from './fleet/fleet.ts';
import type { KubeClient } from './kube/client.ts';
import { listPages } from './kube/list-pages.ts';
import type { Node } from './kube/objects.ts';
import type { Service } from './services.ts';

const PAGE_SIZE = 500;
const LIST_TIMEOUT_MS = 60_000;
/** Twice as long each time. */
const LOOK_AGAIN_MS = 30_000;
const LOOK_AGAIN_MAX_MS = 600_000;

export type StrayTaintsOptions = {
  client: KubeClient;
  fleet: Fleet;
  services: readonly Service[];
  /** One look is enough where nothing comes of it. */
  dryRun: boolean;
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
  const { client, fleet, services, dryRun, clock, logger, signal } = options;
  const keys = new Set(services.map(({ taint }) => taint));
  const request = {
    path: '/api/v1/nodes',
    selectors: {},
    accept: 'application/json',
    pageSize: PAGE_SIZE,
    timeoutMs: LIST_TIMEOUT_MS,
    signal,
  };
  const backoff = new Backoff({ baseMs: LOOK_AGAIN_MS, maxMs: LOOK_AGAIN_MAX_MS, random: () => 1 });
  while (!signal.aborted) {
    try {
      let found = 0;
      await listPages(client, request, (page) => {
        for (const node of page as Node[]) {
          const isStray = node.spec?.taints?.some(({ key }) => keys.has(key)) === true;
          if (isStray) found += 1;
          // One that is known, and is not there any more, was removed by somebody else.
          if (isStray || fleet.node(node.metadata.name)?.taints) fleet.noteTaints(node);
        }
      });
      if (found > 0) logger.info({ nodes: found }, 'Found taints that nobody writes any more');
      if (found === 0 || dryRun) return;
    } catch (err) {
      if (!signal.aborted) logger.warn({ err }, 'Failed to look for taints that nobody writes any more');
    }
    await sleep(clock, backoff.next(), signal);
  }
}
