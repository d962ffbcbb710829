import { CodedError } from '@rollcall/common/coded-error.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { type KubeClient, type KubeRequest, KubeStatusError } from '../../kube/client.ts';
import { LeaderRequests } from '../../kube/leader-requests.ts';
import type { EventNews } from './event-object.ts';
import { EventRecorder } from './event-recorder.ts';

/** What becomes of a request: it is answered, or fails, after `afterMs`. */
type Reply = { afterMs?: number; error?: Error };

type SentEvent = {
  method: string;
  path: string;
  body: Record<string, unknown>;
  atMs: number;
  timeoutMs: number;
};

export const UNREACHABLE = new CodedError('KUBE_UNREACHABLE', 'on purpose');

export function status(code: number, retryAfterMs?: number): KubeStatusError {
  return new KubeStatusError(code, {}, retryAfterMs, {});
}

/** News of a Node; always the same by default. */
export function newsOf(node: string, more: Partial<EventNews> = {}): EventNews {
  const subject = { apiVersion: 'v1', kind: 'Node', name: node, uid: `uid-of-${node}` };
  return { subject, type: 'Warning', reason: 'ServiceNotReady', message: 'ws-daemon refuses connections', ...more };
}

/**
 * A recorder whose requests end as `reply` says. It is about what is sent and when. What an API server makes of it is
 * tested on a real one.
 */
export function started(reply: (request: KubeRequest, count: number) => Reply = () => ({})) {
  const clock = new FakeClock();
  const controller = new AbortController();
  const sent: SentEvent[] = [];
  const state = { remainingMs: 60_000, mustYield: false, underWay: 0, mostUnderWay: 0 };
  const client: KubeClient = {
    async request<T>(request: KubeRequest): Promise<T> {
      const { method, path, timeoutMs } = request;
      sent.push({ method, path, timeoutMs, body: request.body as Record<string, unknown>, atMs: clock.monotonic() });
      state.underWay += 1;
      state.mostUnderWay = Math.max(state.mostUnderWay, state.underWay);
      const { afterMs = 1, error } = reply(request, sent.length);
      await new Promise<void>((resolve) => clock.after(afterMs, resolve));
      state.underWay -= 1;
      if (error) throw error;
      return {} as T;
    },
    stream: () => Promise.resolve(),
    close: () => {},
  };
  const registry = new Registry();
  const logger = silentLogger();
  const lost: unknown[] = [];
  logger.debug = ((fields: { err: unknown }) => lost.push(fields.err)) as typeof logger.debug;
  const fence = { remainingMs: () => state.remainingMs };
  const requests = new LeaderRequests({ client, fence, signal: controller.signal });
  const recorder = new EventRecorder({
    requests,
    mustYield: () => state.mustYield,
    clock,
    random: () => 0.5,
    logger,
    registry,
    instance: 'coordinator-0',
    signal: controller.signal,
  });
  /** How much news had which outcome. */
  async function outcomes(): Promise<Record<string, number>> {
    const [metric] = await registry.getMetricsAsJSON();
    const values = metric?.values ?? [];
    return Object.fromEntries(
      values.map(({ labels, value }) => [labels['outcome'], value]).filter(([, value]) => value !== 0),
    );
  }
  return {
    clock,
    sent,
    state,
    lost,
    recorder,
    settled: () => requests.settled(),
    outcomes,
    stop: () => controller.abort(),
  };
}
