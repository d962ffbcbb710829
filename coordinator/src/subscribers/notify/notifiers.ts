import type { Registry } from '@rollcall/common/metrics.ts';
import { createNotifyMetrics } from './metrics.ts';
import { Notifier, type NotifierOptions } from './notifier.ts';

export type NotifiersOptions = Omit<NotifierOptions, 'url' | 'index' | 'metrics'> & {
  urls: readonly URL[];
  registry: Registry;
};

/** One notifier for each URL, none of which knows of the others. Registers their metrics; once for a registry. */
export function createNotifiers({ urls, registry, ...options }: NotifiersOptions): readonly Notifier[] {
  const notifiers: Notifier[] = [];
  const metrics = createNotifyMetrics(registry, () => notifiers.map(({ pending }) => pending));
  for (const [index, url] of urls.entries()) notifiers.push(new Notifier({ ...options, url, index, metrics }));
  return notifiers;
}
