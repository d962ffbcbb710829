import { setTimeout as sleep } from 'node:timers/promises';
import { type Product, type ProductPod, poolLabelSet, poolLabelSets } from './product.ts';

const changeEveryMs = 200;
const readEveryMs = 200;
/** Label on the nodes of the pool; its value grows. */
export const revisionLabel = 'example.com/revision';

/** What became of reports, as the metrics of every pod tell that ran in the time; counters of those that went, included. */
interface Reports {
  readonly accepted: number;
  /** Answered with an error. */
  readonly refused: number;
  /** Not answered. */
  readonly failed: number;
}

export interface LoadSummary {
  /** The last revision that was asked for. */
  readonly revision: number;
  readonly reports: Reports;
}

/** While `work` is done, changes a label of all nodes of a pool over and over, and counts reports. */
export async function underLoad(product: Product, pool: string, work: () => Promise<void>): Promise<LoadSummary> {
  const ending = new AbortController();
  const [changing, counting] = [changeLabels(product, pool, ending.signal), countReports(product, ending.signal)];
  try {
    await work();
  } finally {
    ending.abort();
  }
  return { revision: await changing, reports: await counting };
}

async function changeLabels({ cluster, history }: Product, pool: string, signal: AbortSignal): Promise<number> {
  const labels = cluster.nodes.map(({ name }) => Number(history.labels(name)[revisionLabel] ?? 0));
  let revision = Math.max(...labels);
  while (!signal.aborted) {
    revision++;
    await cluster.api.patch(`${poolLabelSets}/${pool}`, poolLabelSet(pool, { [revisionLabel]: String(revision) }));
    await sleep(changeEveryMs, undefined, { signal }).catch(() => {});
  }
  return revision;
}

async function countReports(product: Product, signal: AbortSignal): Promise<Reports> {
  const first = new Map<string, Reports>();
  const last = new Map<string, Reports>();
  const read = async (pod: ProductPod) => {
    const uid = pod.metadata.uid ?? '';
    const reports = await reportsOf(product, pod);
    // All reports of an agent that started in the meantime count.
    if (!first.has(uid)) first.set(uid, first.size < product.cluster.nodes.length ? reports : nothing);
    last.set(uid, reports);
  };
  do {
    // One that comes or goes does not answer.
    await Promise.allSettled((await product.pods('agent')).map(read));
    await sleep(readEveryMs, undefined, { signal }).catch(() => {});
  } while (!signal.aborted);
  await Promise.allSettled((await product.pods('agent')).map(read));
  const sum = (key: keyof Reports) =>
    [...last].reduce((total, [uid, reports]) => total + reports[key] - (first.get(uid)?.[key] ?? 0), 0);
  return { accepted: sum('accepted'), refused: sum('refused'), failed: sum('failed') };
}

const nothing: Reports = { accepted: 0, refused: 0, failed: 0 };

async function reportsOf(product: Product, pod: ProductPod): Promise<Reports> {
  const [accepted, refused, failed] = await Promise.all(
    ['accepted', 'refused', 'failed'].map((result) => product.metric(pod, 'rollcall_agent_reports_total', { result })),
  );
  return { accepted: accepted ?? 0, refused: refused ?? 0, failed: failed ?? 0 };
}
