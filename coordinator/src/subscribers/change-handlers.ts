import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { Registry } from '@rollcall/common/metrics.ts';
import type { KubeClient, WriteFence } from '../kube/client.ts';
import type { CoordinatorConfig } from '../model/config.ts';
import { notifyUrl } from '../model/notify-url.ts';
import type { Fleet } from '../state/fleet.ts';
import { type EventNews, leaseSubject } from './events/event-news.ts';
import { Evictor } from './eviction/evictor.ts';
import type { NodeState } from './eviction/misplaced-pods.ts';
import { createNotifiers } from './notify/notifiers.ts';

export type ChangeHandlersOptions = {
  config: Pick<
    CoordinatorConfig,
    | 'evict'
    | 'evictionDelaySeconds'
    | 'evictionsPerMinute'
    | 'notifyUrl'
    | 'notifyNodes'
    | 'dryRun'
    | 'leaseNamespace'
    | 'leaseName'
  >;
  client: KubeClient;
  fence: WriteFence;
  fleet: Fleet;
  /** The labels of a node, and those for which pods may be evicted from it; `undefined` where it is not known. */
  evictable: (node: string) => NodeState | undefined;
  record: (news: EventNews) => void;
  /** Called when a node may have changed. */
  onChanged: (node: string) => void;
  /** Called when this replica begins or ends to lead. */
  onRestart: () => void;
  clock: Clock;
  random: () => number;
  signal: AbortSignal;
  logger: Logger;
  registry: Registry;
};

/** What becomes of a change beyond the Node: pods are evicted, and others are told. */
export type ChangeHandlers = {
  /** A node may be other than it was. The leader's alone. */
  look: (node: string) => void;
  forget: (node: string) => void;
  /** This replica begins to lead, or ends: what was told before was told by another. */
  restart: () => void;
  /** Resolves when nothing is under way that only a leader may do. */
  settled: () => Promise<void>;
};

export function createChangeHandlers({ config, fleet, ...options }: ChangeHandlersOptions): ChangeHandlers {
  // A dry run only observes: the leader beside it notifies.
  const told = config.dryRun ? [] : config.notifyUrl;
  const urls = told.flatMap((text) => {
    const parsed = notifyUrl(text);
    return 'url' in parsed ? [parsed.url] : [];
  });
  const subject = leaseSubject({ namespace: config.leaseNamespace, name: config.leaseName });
  const notifiers = createNotifiers({
    ...options,
    urls,
    nodes: config.notifyNodes,
    onFailing: (message) => options.record({ subject, type: 'Warning', reason: 'NotificationFailed', message }),
  });
  const evictor = config.evict
    ? new Evictor({
        ...options,
        dryRun: config.dryRun,
        delayMs: config.evictionDelaySeconds * 1000,
        perSecond: config.evictionsPerMinute / 60,
        stateOf: options.evictable,
      })
    : undefined;
  return {
    look: (name) => {
      options.onChanged(name);
      evictor?.consider(name);
      const node = fleet.node(name);
      if (node) for (const notifier of notifiers) notifier.offer(node);
    },
    forget: (name) => {
      options.onChanged(name);
      // It is gone by now: what is kept of it goes as well.
      evictor?.consider(name);
      for (const notifier of notifiers) notifier.gone(name);
    },
    restart: () => {
      options.onRestart();
      evictor?.restart();
      for (const notifier of notifiers) notifier.clear();
    },
    settled: async () => evictor?.settled(),
  };
}
