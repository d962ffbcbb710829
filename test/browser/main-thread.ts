import type { Page } from 'playwright-core';

type TraceEvent = { name: string; ph: string; pid: number; tid: number; tdur?: number; args?: { name?: string } };

/**
 * How long the processor was busy with each task of the page's main thread while something went on, in milliseconds, the
 * longest first. That is what a frame waits for, without what other programs on a busy machine take of it.
 */
export async function longestTasks(page: Page, act: () => Promise<void>): Promise<number[]> {
  const client = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  client.on('Tracing.dataCollected', ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  const complete = new Promise((resolve) => client.once('Tracing.tracingComplete', resolve));
  await client.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: ['disabled-by-default-devtools.timeline'] },
  });
  await act();
  await client.send('Tracing.end');
  await complete;
  const main = new Set(
    events.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain').map(threadOf),
  );
  const tasks = events.filter((event) => event.ph === 'X' && main.has(threadOf(event)) && event.name === 'RunTask');
  const busyMs = tasks.map(({ tdur = 0 }) => tdur / 1000).sort((a, b) => b - a);
  if (busyMs.length === 0) throw new Error('The browser told of no task');
  return busyMs;
}

function threadOf({ pid, tid }: TraceEvent): string {
  return `${pid}/${tid}`;
}
