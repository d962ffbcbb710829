import { Counter, Histogram, type Registry } from '@rollcall/common/metrics.ts';

/** `status` and `other` are requests that ask nothing of the scheduler's. */
export type RequestVerb = 'filter' | 'prioritize' | 'preempt' | 'predicates' | 'status' | 'other';

export type ExtenderMetrics = {
  answered(verb: RequestVerb, code: number | 'aborted', seconds: number): void;
  /** So many nodes were evaluated by that rule; `passed` is none. */
  verdicts(rule: string, count: number): void;
};

/** Registers the metrics of this room; once for a registry. */
export function createExtenderMetrics(registry: Registry): ExtenderMetrics {
  const registers = [registry];
  const duration = new Histogram({
    name: 'rollcall_coordinator_extender_duration_seconds',
    help: 'Time from the headers of a request of the scheduler to the end of its answer, by verb, in seconds.',
    labelNames: ['verb'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4],
    registers,
  });
  const requests = new Counter({
    name: 'rollcall_coordinator_extender_requests_total',
    help: 'Requests to the scheduler extender, by verb and status code.',
    labelNames: ['verb', 'code'],
    registers,
  });
  const verdicts = new Counter({
    name: 'rollcall_coordinator_extender_verdicts_total',
    help: 'Nodes that the extender allowed (passed) or refused for workspaces, by the rule that decided.',
    labelNames: ['rule'],
    registers,
  });
  return {
    answered(verb, code, seconds) {
      requests.inc({ verb, code: String(code) });
      duration.observe({ verb }, seconds);
    },
    verdicts: (rule, count) => verdicts.inc({ rule }, count),
  };
}
