import { silentLogger } from '@rollcall/common/logging.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import type { KubeRequest } from '../../kube/client.ts';
import { LeaderRequests } from '../../kube/leader-requests.ts';
import type { EventNews } from '../events/event-object.ts';

/** What a controller of statuses is made with, and what it asks of the API server and tells. All that it asks succeeds. */
export function statusControllerRig() {
  const clock = new FakeClock();
  const requests: KubeRequest[] = [];
  const news: EventNews[] = [];
  const writes = {
    requests: new LeaderRequests({
      client: { request: async (request: KubeRequest) => requests.push(request) as never },
      fence: { remainingMs: () => 10_000 },
      signal: new AbortController().signal,
    }),
    record: (each: EventNews) => news.push(each),
    clock,
    logger: silentLogger(),
  };
  return { clock, requests, news, writes };
}
