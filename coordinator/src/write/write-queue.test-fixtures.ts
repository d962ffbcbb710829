import { CodedError } from '@rollcall/common/coded-error.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { pino } from 'pino';
import type { SeenNode } from '../decide/intent/kinds/kind.ts';
import type { NodePlan } from '../decide/intent/plan.ts';
import { type KubeClient, type KubeRequest, KubeStatusError } from '../kube/client.ts';
import { LeaderRequests } from '../kube/leader-requests.ts';
import type { ObjectMeta } from '../kube/objects.ts';
import { leavingOut } from './leaving-out.test-fixtures.ts';
import { NodeWriter } from './node-writer.ts';
import { SkippedKeys } from './skipped-keys.ts';
import { WriteQueue } from './write-queue.ts';

/** What becomes of a request: it is answered, or fails, after `afterMs`; where that is longer than its time-out, by that. */
export type Reply = { afterMs?: number; error?: Error };

export const UNREACHABLE = new CodedError('KUBE_UNREACHABLE', 'on purpose');

export const TIMED_OUT = new CodedError('KUBE_UNREACHABLE', 'on purpose', { fields: { timeoutMs: 10_000 } });

export function status(code: number, retryAfterMs?: number): KubeStatusError {
  return new KubeStatusError(code, {}, retryAfterMs, {});
}

/**
 * A writeQueue whose requests end as `reply` says; one that succeeds makes its Node as planned. It is about what is done
 * in which order. What an API server answers is tested on a real one.
 */
export function started(reply: (request: KubeRequest, count: number) => Reply = () => ({})) {
  const clock = new FakeClock();
  const sent: { node: string; kind: 'set' | 'withdraw'; atMs: number; timeoutMs: number; request: KubeRequest }[] = [];
  const plans = new Map<string, NodePlan>();
  const written: string[] = [];
  /** What is told to people. */
  const logged: string[] = [];
  /** Each Node as the watch reported it; unknown unless a test sets it. */
  const seen = new Map<string, SeenNode>();
  const state = {
    remainingMs: 60_000,
    lagging: false,
    underWay: new Map<string, number>(),
    mostUnderWay: 0,
    mostOfOneNode: 0,
  };

  function apply(node: string, kind: 'set' | 'withdraw'): void {
    const { set: _set, withdrawal: _withdrawal, ...rest } = plans.get(node) ?? planFor(node);
    const { set, withdrawal } = plans.get(node) ?? {};
    plans.delete(node);
    if (kind === 'withdraw' && set) plans.set(node, { ...rest, set });
    if (kind === 'set' && withdrawal) plans.set(node, { ...rest, withdrawal });
  }

  const client: KubeClient = {
    async request<T>(request: KubeRequest): Promise<T> {
      const node = request.path.split('/').at(-1) ?? '';
      if (request.method === 'GET') return { metadata: { name: node, uid: 'u', resourceVersion: '2' } } as T;
      const kind = request.contentType?.includes('merge') ? 'withdraw' : 'set';
      sent.push({ node, kind, atMs: clock.monotonic(), timeoutMs: request.timeoutMs, request });
      state.underWay.set(node, (state.underWay.get(node) ?? 0) + 1);
      state.mostOfOneNode = Math.max(state.mostOfOneNode, state.underWay.get(node) ?? 0);
      state.mostUnderWay = Math.max(
        state.mostUnderWay,
        [...state.underWay.values()].reduce((a, b) => a + b, 0),
      );
      const { afterMs = 1, error } = reply(request, sent.length);
      await new Promise<void>((resolve) => {
        clock.after(Math.min(afterMs, request.timeoutMs), resolve);
        request.signal?.addEventListener('abort', () => resolve());
      });
      state.underWay.set(node, (state.underWay.get(node) ?? 0) - 1);
      request.signal?.throwIfAborted();
      if (afterMs > request.timeoutMs) throw TIMED_OUT;
      if (error) throw error;
      if (!request.query?.['dryRun'] && !state.lagging) apply(node, kind);
      // Whatever was to be set is there, and what was to go is not.
      const { labels = {}, annotations = {} } = (request.body as { metadata: Partial<ObjectMeta> }).metadata;
      const applied = kind === 'set' ? { labels, annotations } : {};
      return { metadata: { name: node, uid: 'u', resourceVersion: '2', ...applied } satisfies ObjectMeta } as T;
    },
    stream: () => Promise.resolve(),
    close: () => {},
  };
  const fence = { remainingMs: () => state.remainingMs };
  const requests = new LeaderRequests({ client, fence, signal: new AbortController().signal });
  const registry = new Registry();
  const skipped = new SkippedKeys(clock);
  const writeQueue = new WriteQueue({
    observed: (name) => seen.get(name),
    writer: new NodeWriter(requests),
    skipped,
    dryRun: false,
    registry,
    logger: pino({ level: 'info' }, { write: (line) => logged.push(JSON.parse(line).msg) }),
    clock,
    random: () => 0.5,
  });
  writeQueue.serve({
    prepare: (name) => {
      const plan = plans.get(name);
      return plan && leavingOut(plan, skipped, seen.get(name));
    },
    sent: () => () => {},
    rested: () => {},
    written: ({ metadata }) => written.push(metadata.name),
    contested: () => {},
    skipped: () => {},
  });
  return { clock, sent, plans, written, logged, seen, state, writeQueue, requests, registry, skipped };
}

export function planFor(name: string, parts: Partial<NodePlan> = {}): NodePlan {
  return { node: { name, uid: 'u', resourceVersion: '1' }, ...parts };
}

export const set = { labels: { a: '1' }, annotations: {}, force: false };
export const withdrawal = { labels: ['ready'], annotations: [] };
