import { Backoff } from '@rollcall/common/backoff.ts';
import { type Clock, sleep } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { collectionPath, WATCHED } from '@rollcall/common/watched-resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { listPages } from '../kube/list-pages.ts';
import type { Node } from '../kube/objects.ts';
import type { KeyRegistry } from '../model/keys/key-registry.ts';
import type { Fleet } from '../state/fleet.ts';
import { keysOn, listedKey, listedOf } from '../state/node-keys.ts';
import type { ObservedNode } from '../state/observed-node.ts';

const PAGE_SIZE = 500;
const LIST_TIMEOUT_MS = 60_000;
/** Twice as long each time. */
const LOOK_AGAIN_MS = 5000;
const LOOK_AGAIN_MAX_MS = 600_000;
/** How often those that came since are looked at, each once. */
const NEW_NODES_MS = 5000;

export type StrayTaintsOptions = {
  client: KubeClient;
  fleet: Fleet;
  keys: KeyRegistry;
  /** One look is enough where nothing comes of it. */
  dryRun: boolean;
  clock: Clock;
  logger: Logger;
  /** Until this replica no longer leads. */
  signal: AbortSignal;
};

/**
 * Looks for taints and conditions of ours where none are kept: a predecessor, rollcall with another gate, or a service that
 * is none any more may have left them, and the watch, which is for metadata only, does not show them. Hands them to the
 * fleet until a list shows none. Nodes that come after the first list are looked at one by one, since the startup taint comes with
 * a Node, and so are those that changed while they were listed.
 */
export async function findStrayTaints(options: StrayTaintsOptions): Promise<void> {
  const { dryRun, clock, signal } = options;
  const backoff = new Backoff({ baseMs: LOOK_AGAIN_MS, maxMs: LOOK_AGAIN_MAX_MS, random: () => 1 });
  const seen = new Set<string>();
  let dueMs = clock.monotonic();
  let isListed = false;
  while (!signal.aborted) {
    if (clock.monotonic() >= dueMs) {
      const found = await tryAll(options, seen);
      isListed ||= found !== undefined;
      if (dryRun && isListed) return;
      dueMs = found === 0 ? Number.POSITIVE_INFINITY : clock.monotonic() + backoff.next();
    }
    await sleep(clock, NEW_NODES_MS, signal);
    // Before there was a list, all of them are new.
    if (isListed) await lookAtNew(options, seen);
  }
}

/** `undefined` where it could not be seen. */
async function tryAll(options: StrayTaintsOptions, seen: Set<string>): Promise<number | undefined> {
  const { logger, signal } = options;
  try {
    const found = await lookAtAll(options, seen);
    if (found > 0) logger.info({ nodes: found }, 'Found left-over taints or conditions');
    return found;
  } catch (err) {
    if (!signal.aborted) logger.warn({ err }, 'Failed to look for left-over taints');
    return undefined;
  }
}

/** Returns how many Nodes have such a taint. `seen` gets the uids of all. */
async function lookAtAll(options: StrayTaintsOptions, seen: Set<string>): Promise<number> {
  const { client, signal } = options;
  const request = {
    path: collectionPath(WATCHED.nodes),
    selectors: {},
    accept: 'application/json',
    pageSize: PAGE_SIZE,
    timeoutMs: LIST_TIMEOUT_MS,
    signal,
  };
  let found = 0;
  await listPages(client, request, (page) => {
    for (const node of page as Node[]) {
      if (isStray(node, options)) found += 1;
      // A Node that changed while it was listed is looked at again, with those that are new.
      if (takeIn(node, options)) seen.add(node.metadata.uid);
      else seen.delete(node.metadata.uid);
    }
  });
  return found;
}

async function lookAtNew(options: StrayTaintsOptions, seen: Set<string>): Promise<void> {
  const { client, fleet, logger, signal } = options;
  const present = fleet.nodes();
  const uids = new Set(present.map(({ uid }) => uid));
  for (const uid of seen) if (!uids.has(uid)) seen.delete(uid);
  for (const { name, uid } of present.filter((node) => !seen.has(node.uid))) {
    try {
      const path = `/api/v1/nodes/${encodeURIComponent(name)}`;
      const request = { method: 'GET', path, accept: 'application/json', timeoutMs: LIST_TIMEOUT_MS, signal } as const;
      const node = await client.request<Node>(request);
      if (takeIn(node, options)) seen.add(uid);
    } catch (err) {
      // It may be gone by now. If not, it is looked at again.
      if (!signal.aborted) logger.debug({ node: name, err }, 'Failed to look at the taints of a new node');
    }
  }
}

/** `false` where the Node has changed since, so that nothing of it was kept. */
function takeIn(node: Node, options: StrayTaintsOptions): boolean {
  const { fleet } = options;
  const known = fleet.node(node.metadata.name);
  // A taint that is known or listed, and is absent now, was removed by another client.
  const tells = isStray(node, options) || (known && (known.taints || isListing(known)));
  return !tells || fleet.noteStrays(node);
}

function isListing(node: ObservedNode): boolean {
  return listedOf(node, 'taint').size + listedOf(node, 'condition').size + ownedConditions(node) > 0;
}

function ownedConditions({ conditionOwners }: ObservedNode): number {
  return conditionOwners?.ours.size ?? 0;
}

function isStray({ metadata, spec, status }: Node, { keys, fleet }: StrayTaintsOptions): boolean {
  const known = fleet.node(metadata.name);
  const listed = known && keysOn(known);
  const isOurs = (key: string) =>
    listed?.has(listedKey('taint', key)) === true || keys.entryOf('taint', key) !== undefined;
  if (spec?.taints?.some(({ key }) => isOurs(key))) return true;
  if (known && ownedConditions(known) > 0) return true;
  return status?.conditions?.some(({ type }) => listed?.has(listedKey('condition', type))) === true;
}
