import { SERVICES_STARTED_ANNOTATION } from '@rollcall/common/well-known.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Service } from '../../model/services.ts';
import { nodeRecord } from '../../state/node-record.test-fixtures.ts';
import { pod, snapshot, WS_DAEMON_SERVICE } from './readiness.test-fixtures.ts';
import { ReadinessTracker, readinessOf } from './tracker.ts';

const SECOND = 1000;

function tracked(services: readonly Service[] = [WS_DAEMON_SERVICE]) {
  const inForce = { services };
  const news: string[] = [];
  const late: string[] = [];
  const observer = { seen: [] as string[], untilMs: undefined as number | undefined, sightings: [] as string[] };
  const tracker = new ReadinessTracker({
    services: () => inForce.services,
    observer: {
      sees: (_node, { version }) => observer.seen.push(version),
      heldUntilMs: ({ sighting }) => (sighting === 'lost' ? observer.untilMs : undefined),
      record: ({ sighting }) => observer.sightings.push(sighting),
    },
  });
  const record = nodeRecord();
  let nowMs = 0;
  const judge = (change: Parameters<typeof snapshot>[0], ready = true) => {
    const node = snapshot(change, ready);
    const now = { monotonicMs: nowMs, wallMs: nowMs };
    const judgements = tracker.judge(record, node, now);
    expect(tracker.judge(record, node, now)).toEqual(judgements);
    const { heldBack, late: lateNow } = tracker.record(record, node, judgements, now);
    news.push(...heldBack.map(({ name }) => name));
    late.push(...lateNow.map(({ name }) => name));
    const shown = readinessOf(judgements).get('ws-daemon');
    if (!shown) throw new Error('ws-daemon was not evaluated');
    expect(readinessOf(tracker.judge(record, node, now)).get('ws-daemon')).toEqual(shown);
    return shown;
  };
  return {
    inForce,
    tracker,
    record,
    news,
    late,
    observer,
    judge,
    wait: (ms: number) => {
      nowMs += ms;
      return tracker.released(nowMs);
    },
    /** Ready, then not, so many times, a second each. */
    fall: (times: number, change: Parameters<typeof snapshot>[0] = {}) => {
      for (let i = 0; i < times; i += 1) {
        judge(change);
        nowMs += SECOND;
        judge(change, false);
        nowMs += SECOND;
      }
    },
  };
}

test('a service that is gone is not remembered: one of the same name begins anew', () => {
  const { fall, judge, inForce, tracker, record } = tracked();
  fall(4);
  expect(judge({}).damping).toBeDefined();
  inForce.services = [];
  tracker.record(record, snapshot(), [], { monotonicMs: 0, wallMs: 0 });
  inForce.services = [WS_DAEMON_SERVICE];
  expect(judge({}).damping).toBeUndefined();
});

describe('a service with a startup deadline', () => {
  const origin = { kind: 'object', uid: 'x', generation: 1, createdAtMs: 0 } as const;
  const DEADLINE = { ...WS_DAEMON_SERVICE, origin, startupDeadlineMs: 60 * SECOND };
  const started = (uid: string) => ({
    [SERVICES_STARTED_ANNOTATION]: JSON.stringify({ node: 'u', services: { 'ws-daemon': `${uid}:1` } }),
  });
  const begun = () => {
    const stage = tracked();
    stage.inForce.services = [DEADLINE];
    return stage;
  };

  test('is late once the deadline is over, is looked at then, and is news once', () => {
    const { judge, wait, late } = begun();
    expect(judge({}, false).isLate).toBeUndefined();
    expect(wait(59 * SECOND)).toEqual([]);
    expect(wait(SECOND)).toEqual(['n']);
    expect(judge({}, false).isLate).toBe(true);
    expect(judge({}, false).isLate).toBe(true);
    expect(late).toEqual(['ws-daemon']);
    expect(wait(600 * SECOND)).toEqual([]);
  });

  test('is not late while it is ready or unknown, nor where the Node records that it was ready once', () => {
    const { judge, wait, late } = begun();
    wait(100 * SECOND);
    expect(judge({}).isLate).toBeUndefined();
    expect(judge({ freshness: { state: 'unheard' } }).isLate).toBeUndefined();
    expect(judge({ annotations: started('x') }, false).isLate).toBeUndefined();
    expect(late).toEqual([]);
    expect(judge({ annotations: started('earlier') }, false).isLate).toBe(true);
  });

  test('that became ready in time is never looked at again', () => {
    const { judge, wait } = begun();
    judge({}, false);
    wait(SECOND);
    judge({ annotations: started('x') });
    expect(wait(600 * SECOND)).toEqual([]);
  });

  test('counts from the creation of the Node', () => {
    const { judge, wait } = begun();
    wait(100 * SECOND);
    expect(judge({ createdAtMs: 41 * SECOND }, false).isLate).toBeUndefined();
    expect(judge({ createdAtMs: 40 * SECOND }, false).isLate).toBe(true);
  });

  test('that is younger than the Node is not late on it before anything was seen of it', () => {
    const { judge, wait, late, inForce } = begun();
    inForce.services = [{ ...DEADLINE, origin: { ...origin, createdAtMs: 100 * SECOND } }];
    wait(100 * SECOND);
    const unchecked = { services: new Map(), pods: [], podsKnown: () => false };
    expect(judge(unchecked)).toMatchObject({ state: 'unknown', reason: expect.stringContaining('not been listed') });
    expect(judge(unchecked).isLate).toBeUndefined();
    expect(late).toEqual([]);
    expect(wait(60 * SECOND)).toEqual(['n']);
    expect(judge({}, false).isLate).toBe(true);
  });
});

describe('a service that an agent no longer sees', () => {
  test('is unknown while the agent is doubted, also when it is evaluated again, and gone after that', () => {
    const { judge, observer } = tracked();
    judge({});
    observer.untilMs = 600_000;
    for (let i = 0; i < 2; i += 1) {
      const shown = judge({}, false);
      expect(shown.state).toBe('unknown');
      expect(shown.reason).toMatch(
        /held until 1970-01-01T00:10:00\S*, since most agents that were replaced report the same/,
      );
    }
    observer.untilMs = undefined;
    expect(judge({}, false).state).toBe('not-ready');
  });

  test('is never held where its pods are not Ready, or where it was not ready before', () => {
    const { judge, observer } = tracked();
    observer.untilMs = 600_000;
    expect(judge({}, false).state).toBe('not-ready');
    judge({});
    expect(judge({ pods: [pod({ ready: false })] }, false).state).toBe('not-ready');
    expect(observer.sightings).toEqual(['gone', 'settled', 'settled']);
  });

  test('is not held where something else than the agent speaks against it', () => {
    const { judge, observer } = tracked();
    judge({});
    observer.untilMs = 600_000;
    expect(judge({ freshness: { state: 'silent' } }).state).toBe('not-ready');
    expect(observer.sightings).toEqual(['settled', 'settled']);
  });

  test('is held until a time by the clock of people', () => {
    const { judge, observer, wait } = tracked();
    wait(60 * SECOND);
    judge({});
    observer.untilMs = 600_000;
    expect(judge({}, false).reason).toContain('held until 1970-01-01T00:10:00Z');
  });

  test('is shown with what the evidence alone says', () => {
    const { judge, observer } = tracked();
    expect(judge({})).not.toHaveProperty('evidence');
    observer.untilMs = 600_000;
    expect(judge({}, false).evidence).toMatchObject({
      state: 'not-ready',
      reason: 'tcp refused twice',
      cause: 'agent',
    });
  });

  test('is not observed while its state is unknown for another reason', () => {
    const { judge, observer } = tracked();
    judge({});
    observer.untilMs = 600_000;
    expect(judge({ freshness: { state: 'unheard' } }).reason).toBe('the agent has not reported to this leader yet');
    judge({ podsKnown: () => false });
    expect(observer.sightings).toEqual(['settled', 'unchanged', 'unchanged']);
  });

  test('tells whose word it is', () => {
    const { judge, observer } = tracked();
    judge({ agentVersion: undefined });
    judge({ agentVersion: '1.2.3' });
    expect(observer.seen).toEqual(['1.2.3']);
  });
});

describe('a service that comes and goes', () => {
  test('is ready at once after three falls', () => {
    const { fall, judge } = tracked();
    fall(3);
    expect(judge({})).toMatchObject({ state: 'ready' });
  });

  test('is not held back for what happens during a drain, and is for what happens when one is only planned', () => {
    const conditions = (type: string, status = 'True') => ({
      conditions: [{ type, status, reason: '', message: '', lastTransitionTime: null, index: 0 }],
    });
    const { fall, judge } = tracked();
    fall(4, conditions('DrainInProgress'));
    expect(judge({})).toMatchObject({ state: 'ready' });
    fall(4, conditions('DrainInProgress', 'False'));
    expect(judge({})).toMatchObject({ cause: 'damping', damping: { falls: 4 } });
    const planned = tracked();
    planned.fall(4, conditions('MaintenancePlanned'));
    expect(planned.judge({})).toMatchObject({ cause: 'damping' });
  });

  test('is held back for 10 s after the fourth fall, and then ready, without another word of its own', () => {
    const { fall, judge, wait, news, tracker } = tracked();
    fall(4);
    expect(judge({})).toMatchObject({ state: 'not-ready', cause: 'damping', damping: { falls: 4 } });
    expect(judge({}).reason).toMatch(/^held back until .* since it became not ready 4 times .* now: pod /);
    expect(news).toHaveLength(1);
    expect(tracker.heldCount).toBe(1);
    expect(wait(8 * SECOND)).toEqual([]);
    expect(wait(2 * SECOND)).toEqual(['n']);
    expect(wait(0)).toEqual([]);
    expect(judge({})).toMatchObject({ state: 'ready' });
    expect(tracker.heldCount).toBe(0);
  });

  test('is not counted in a dry run, which no alert is about', () => {
    const { fall, judge, tracker } = tracked([
      { ...WS_DAEMON_SERVICE, publish: {}, dryRun: WS_DAEMON_SERVICE.publish },
    ]);
    fall(4);
    expect(judge({})).toMatchObject({ state: 'not-ready', cause: 'damping' });
    expect(tracker.heldCount).toBe(0);
  });

  test('is released at the very moment until which it was held back, and shows what the evidence says meanwhile', () => {
    const { fall, judge, wait } = tracked();
    fall(4);
    const { damping, evidence } = judge({});
    expect(evidence?.state).toBe('ready');
    const leftMs = (damping?.untilMs ?? 0) - judge({}).sinceMs - SECOND;
    expect([wait(leftMs - 1), judge({}).state]).toEqual([[], 'not-ready']);
    expect([wait(1), judge({}).state]).toEqual([['n'], 'ready']);
  });

  test('that is not ready is so for its own reason, also while it would be held back', () => {
    const { fall, judge } = tracked();
    fall(4);
    const shown = judge({}, false);
    expect(shown).toMatchObject({ state: 'not-ready', reason: 'tcp refused twice', damping: { falls: 4 } });
    expect(shown).not.toHaveProperty('evidence');
  });

  test('is held back twice as long with each further fall, and for 5 minutes at most', () => {
    const lengths = [4, 5, 6, 9, 20].map((falls) => {
      const { fall, judge } = tracked();
      fall(falls);
      const { damping } = judge({});
      return Math.round(((damping?.untilMs ?? 0) - (2 * falls - 1) * SECOND) / SECOND);
    });
    expect(lengths).toEqual([10, 20, 40, 300, 300]);
  });

  test('says how often it fell, also when the longest hold is reached long since', () => {
    const { fall, judge } = tracked();
    fall(30);
    expect(judge({}).reason).toContain('became not ready 30 times in 5 minutes');
  });

  test('starts anew when its falls are five minutes old', () => {
    const { fall, judge, wait } = tracked();
    fall(4);
    wait(300 * SECOND);
    fall(3);
    expect(judge({})).toMatchObject({ state: 'ready' });
  });

  test('an unknown state does not count as a fall', () => {
    const { judge } = tracked();
    for (let i = 0; i < 10; i += 1) {
      judge({});
      expect(judge({ freshness: { state: 'unheard' } }).state).toBe('unknown');
    }
    expect(judge({}).damping).toBeUndefined();
  });

  test('is not told, nor counted, once its node is gone', () => {
    const { fall, judge, wait, tracker, record } = tracked();
    fall(4);
    judge({});
    record.ended = true;
    expect(tracker.heldCount).toBe(0);
    expect(wait(60 * SECOND)).toEqual([]);
  });

  test('counts once however often the same is looked at', () => {
    const { judge } = tracked();
    judge({});
    for (let i = 0; i < 10; i += 1) judge({}, false);
    expect(judge({})).toMatchObject({ state: 'ready' });
  });
});

test('withdrawal is never delayed: what the evidence says against a service always counts at once', () => {
  const step = fc.record({ ready: fc.boolean(), podReady: fc.boolean(), waitMs: fc.integer({ min: 0, max: 60_000 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { judge, wait } = tracked();
      for (const { ready, podReady, waitMs } of steps) {
        wait(waitMs);
        const shown = judge({ pods: [pod({ ready: podReady })] }, ready);
        if (!ready || !podReady) expect(shown.state).toBe('not-ready');
        else expect(shown.state).toBe(shown.damping ? 'not-ready' : 'ready');
      }
    }),
  );
});

test('a readiness says since when it is so', () => {
  const { judge, wait } = tracked();
  expect(judge({}).sinceMs).toBe(0);
  wait(5 * SECOND);
  expect(judge({}).sinceMs).toBe(0);
  expect(judge({}, false).sinceMs).toBe(5 * SECOND);
});

test('a service is evaluated on the nodes that it is for, and on no others', () => {
  const service = { ...WS_DAEMON_SERVICE, nodeSelector: { matchLabels: { tier: 'gold' } } };
  const { judge } = tracked([service]);
  expect(judge({ labels: { tier: 'gold' } }).state).toBe('ready');
  expect(() => judge({})).toThrow('ws-daemon was not evaluated');
});

test('a service of mode Startup that was ready on the node once is ready, whatever the evidence says', () => {
  const said = (generation: number) => {
    const origin = { kind: 'object', uid: 'x', generation, createdAtMs: 0 } as const;
    const { judge } = tracked([{ ...WS_DAEMON_SERVICE, mode: 'Startup', origin }]);
    const started = JSON.stringify({ node: 'u', services: { 'ws-daemon': 'x:1' } });
    expect(judge({}, false).state).toBe('not-ready');
    const { state, reason } = judge({ annotations: { 'rollcall.dev/services-started': started } }, false);
    return `${state}: ${reason}`;
  };
  const first = 'ready: it was ready on the node once, which is enough for the mode Startup: with generation 1';
  expect(said(1)).toBe(first);
  expect(said(2)).toBe(`${first}, and generation 2 was not checked there`);
});
