import type { FullReport, Heartbeat } from '@rollcall/common/report.ts';
import { describe, expect, test } from 'vitest';
import { AgentSessions, SEQUENCE_STEP_MAX } from './agent-sessions.ts';
import { createIntern } from './intern.ts';

const since = '2026-01-01T00:00:00Z';
const WINDOW_MS = 30_000;

function heartbeat(boot: string, sequence: number, digest = 'd1'): Heartbeat {
  return { node: 'n', boot, sequence, digest };
}

function full(boot: string, sequence: number, options: { ready?: boolean; digest?: string } = {}): FullReport {
  const services = [{ name: 'ws-daemon', ready: options.ready ?? true, since, evidence: 'tcp', digest: 'c' }];
  return { ...heartbeat(boot, sequence, options.digest), services, devices: [], facts: {} };
}

/** A pod that was created then; of one that is not watched only the token tells. */
function pod(uid: string, podCreatedMs: number | undefined, issuedAtSeconds = 0) {
  return { pod: { name: uid, uid }, podCreatedMs, issuedAtSeconds };
}

const OLD = pod('old', 1000);
const NEW = pod('new', 2000);

function heard() {
  const sessions = new AgentSessions(WINDOW_MS, createIntern());
  return { sessions, ready: () => sessions.content?.services[0]?.ready };
}

test('an agent that hung does not count again by what it said before its successor, which has left', () => {
  const { sessions, ready } = heard();
  sessions.admit(full('a', 1), OLD, 0);
  sessions.admit(full('b', 1, { ready: false }), NEW, 5000);
  expect(sessions.admit({ ...heartbeat('b', 2), leaving: true }, NEW, 7000)).toBe('beside');
  expect(ready()).toBe(false);
  expect(sessions.admit(heartbeat('a', 2), OLD, 9000)).toBe('heartbeat');
  expect(ready()).toBe(true);
});

describe('one agent', () => {
  test('is heard by heartbeats once its content is known', () => {
    const { sessions } = heard();
    expect(sessions.admit(heartbeat('a', 1), OLD, 0)).toBe('unknown-digest');
    expect(sessions.admit(full('a', 2), OLD, 0)).toBe('content');
    expect(sessions.admit(heartbeat('a', 3), OLD, 0)).toBe('heartbeat');
    expect(sessions.admit(heartbeat('a', 4, 'd2'), OLD, 0)).toBe('unknown-digest');
  });

  test('has a version only if its reports name one', () => {
    const { sessions } = heard();
    sessions.admit(full('a', 1), OLD, 0);
    expect(sessions.content).not.toHaveProperty('version');
    sessions.admit({ ...full('a', 2), version: '1.2.3', servicesDigest: 's' }, OLD, 0);
    expect(sessions.content).toMatchObject({ version: '1.2.3', unread: [], answers: {}, values: {} });
  });

  test('cannot go back: an old or repeated sequence is ignored', () => {
    const { sessions, ready } = heard();
    sessions.admit(full('a', 5), OLD, 0);
    expect(sessions.admit(full('a', 5, { ready: false }), OLD, 0)).toBe('ignored');
    expect(sessions.admit(full('a', 4, { ready: false }), OLD, 0)).toBe('ignored');
    expect(ready()).toBe(true);
  });

  test('cannot jump: what is further ahead than an outage explains is ignored', () => {
    const { sessions, ready } = heard();
    sessions.admit(full('a', 5), OLD, 0);
    expect(sessions.admit(full('a', 6 + SEQUENCE_STEP_MAX, { ready: false }), OLD, 0)).toBe('ignored');
    expect(sessions.admit(full('a', Number.MAX_SAFE_INTEGER, { ready: false }), OLD, 0)).toBe('ignored');
    expect(ready()).toBe(true);
    expect(sessions.admit(heartbeat('a', 6), OLD, 0)).toBe('heartbeat');
    expect(sessions.admit(heartbeat('a', 6 + SEQUENCE_STEP_MAX), OLD, 0)).toBe('heartbeat');
  });

  test('may be in the middle of its session when it is first heard, as after a change of leader', () => {
    const { sessions } = heard();
    expect(sessions.admit(full('a', 10 * SEQUENCE_STEP_MAX), OLD, 0)).toBe('content');
    expect(sessions.admit(heartbeat('a', 10 * SEQUENCE_STEP_MAX + 1), OLD, 0)).toBe('heartbeat');
  });

  test('is known by its pod and its boot: the same boot of another pod is another session', () => {
    const { sessions, ready } = heard();
    sessions.admit(full('a', 5), NEW, 0);
    expect(sessions.admit(full('a', 1000, { ready: false }), OLD, 0)).toBe('beside');
    expect(ready()).toBe(true);
    expect(sessions.admit(heartbeat('a', 6), NEW, 0)).toBe('heartbeat');
  });

  test('that says goodbye is taken at its word, with what it says or without', () => {
    const { sessions, ready } = heard();
    sessions.admit(full('a', 1), OLD, 0);
    expect(sessions.admit({ ...heartbeat('a', 2), leaving: true }, OLD, 0)).toBe('leaving');
    const other = heard();
    expect(other.sessions.admit({ ...heartbeat('a', 2), leaving: true }, OLD, 0)).toBe('leaving');
    expect(other.sessions.admit({ ...full('a', 3), leaving: true }, OLD, 0)).toBe('leaving');
    expect(other.sessions.admit({ ...full('a', 4), leaving: true }, OLD, 0)).toBe('beside');
    expect([ready(), other.ready()]).toEqual([true, true]);
  });

  test('that was silent for long is heard again as it was', () => {
    const { sessions } = heard();
    sessions.admit(full('a', 1), OLD, 0);
    expect(sessions.admit(heartbeat('a', 2), OLD, 10 * WINDOW_MS)).toBe('heartbeat');
  });

  test('says the very same where it repeats itself', () => {
    const { sessions } = heard();
    const report = (sequence: number, cpu = 'x') => ({ ...full('a', sequence), facts: { cpu } });
    sessions.admit(report(1), OLD, 0);
    const before = sessions.content;
    sessions.admit(report(2), OLD, 0);
    for (const part of ['facts', 'devices', 'services', 'unread'] as const) {
      expect(sessions.content?.[part]).toBe(before?.[part]);
    }
    sessions.admit(report(3, 'y'), OLD, 0);
    expect(sessions.content?.facts).toEqual({ cpu: 'y' });
  });
});

describe('of two agents that overlap', () => {
  test('the agent of the newer pod counts, whichever is heard first', () => {
    for (const order of ['old first', 'new first']) {
      const { sessions, ready } = heard();
      if (order === 'old first') sessions.admit(full('a', 1, { ready: false }), OLD, 0);
      expect(sessions.admit(full('b', 1), NEW, 0)).toBe('content');
      expect(sessions.admit(full('a', 2, { ready: false }), OLD, 0)).toBe('beside');
      expect(ready()).toBe(true);
    }
  });

  test('that with the later token counts, where the pods are not watched', () => {
    const { sessions, ready } = heard();
    sessions.admit(full('b', 7), pod('new', undefined, 20), 0);
    expect(sessions.admit(full('a', 100, { ready: false }), pod('old', undefined, 10), 0)).toBe('beside');
    // Tokens are renewed.
    expect(sessions.admit(heartbeat('a', 101), pod('old', undefined, 30), 0)).toBe('beside');
    expect(ready()).toBe(true);
  });

  test('the agent of the newer pod counts as soon as that is known, whichever token is later', () => {
    const { sessions, ready } = heard();
    sessions.admit(full('a', 1, { ready: false }), pod('old', undefined, 10), 0);
    expect(sessions.admit(full('b', 1), NEW, 0)).toBe('beside');
    expect(sessions.admit(heartbeat('a', 2), OLD, 0)).toBe('beside');
    expect(ready()).toBe(true);
  });

  test('a pod that was created and a token that was issued are compared by their times', () => {
    const created = pod('created', 1_500_000);
    const issued = (atSeconds: number) => pod('issued', undefined, atSeconds);
    const admitted = (atSeconds: number) => {
      const { sessions } = heard();
      sessions.admit(full('a', 1), created, 0);
      return sessions.admit(full('b', 1), issued(atSeconds), 0);
    };
    expect([admitted(1499), admitted(1501)]).toEqual(['beside', 'content']);
  });

  test('the one that was first heard later counts, where it is unknown which is newer', () => {
    const { sessions, ready } = heard();
    const unknown = (uid: string) => ({ pod: { name: uid, uid } });
    sessions.admit(full('a', 1, { ready: false }), unknown('one'), 0);
    expect(sessions.admit(full('b', 1), unknown('two'), 1000)).toBe('content');
    expect(sessions.admit(heartbeat('a', 2), unknown('one'), 2000)).toBe('beside');
    expect(ready()).toBe(true);
  });

  test('the later of one pod counts: its container was restarted', () => {
    const { sessions } = heard();
    sessions.admit(full('a', 100), OLD, 0);
    expect(sessions.admit(full('b', 1), OLD, 0)).toBe('content');
    expect(sessions.admit(full('a', 101), OLD, 0)).toBe('superseded');
    expect(sessions.admit(heartbeat('a', 102, 'd2'), OLD, 0)).toBe('superseded');
  });

  test('what the first saw stays true until the second has said what it sees', () => {
    const { sessions, ready } = heard();
    sessions.admit(full('a', 1), OLD, 0);
    expect(sessions.admit(heartbeat('b', 1), NEW, 0)).toBe('unknown-digest');
    expect(ready()).toBe(true);
    expect(sessions.admit(full('b', 2, { ready: false }), NEW, 0)).toBe('content');
    expect(ready()).toBe(false);
  });
});

describe('an agent that did not count counts again', () => {
  function overlapping() {
    const staged = heard();
    staged.sessions.admit(full('a', 1, { ready: false }), OLD, 0);
    staged.sessions.admit(full('b', 1), NEW, 0);
    expect(staged.ready()).toBe(true);
    return staged;
  }

  test('once the newer one says goodbye', () => {
    const { sessions, ready } = overlapping();
    expect(sessions.admit({ ...heartbeat('b', 2), leaving: true }, NEW, 0)).toBe('beside');
    expect(ready()).toBe(false);
    expect(sessions.admit(heartbeat('a', 2), OLD, 0)).toBe('heartbeat');
  });

  test('once the pod of the newer one is gone', () => {
    const { sessions, ready } = overlapping();
    expect(sessions.podGone('new', 0)).toBe(false);
    expect(ready()).toBe(false);
    expect(sessions.podGone('old', 0)).toBe(true);
    expect(ready()).toBe(false);
  });

  test('once the newer one was silent for a window', () => {
    const { sessions, ready } = overlapping();
    expect(sessions.admit(heartbeat('a', 2), OLD, WINDOW_MS - 1)).toBe('beside');
    expect(ready()).toBe(true);
    expect(sessions.admit(heartbeat('a', 3), OLD, WINDOW_MS)).toBe('heartbeat');
    expect(ready()).toBe(false);
  });

  test('when it said nothing for a window itself, as soon as it has said what it sees', () => {
    const { sessions, ready } = overlapping();
    sessions.admit(heartbeat('b', 2), NEW, WINDOW_MS);
    sessions.admit({ ...heartbeat('b', 3), leaving: true }, NEW, WINDOW_MS);
    expect(ready()).toBe(true);
    expect(sessions.admit(heartbeat('a', 2), OLD, WINDOW_MS)).toBe('unknown-digest');
    expect(ready()).toBe(true);
    expect(sessions.admit(full('a', 3, { ready: false }), OLD, WINDOW_MS)).toBe('content');
    expect(ready()).toBe(false);
  });

  test('and not by what it said before', () => {
    const { sessions } = overlapping();
    sessions.admit(heartbeat('a', 9), OLD, 0);
    sessions.podGone('new', 0);
    expect(sessions.admit(full('a', 8), OLD, 0)).toBe('ignored');
  });
});

test('the boot that counts is remembered however many come and go beside it, and so are the last', () => {
  const { sessions } = heard();
  sessions.admit(full('counts', 5), NEW, 0);
  for (let index = 0; index < 20; index += 1) sessions.admit(full(`boot ${index}`, 5), OLD, 0);
  expect(sessions.admit(full('counts', 5), NEW, 0)).toBe('ignored');
  expect(sessions.admit(full('boot 19', 5), OLD, 0)).toBe('ignored');
  expect(sessions.admit(full('boot 13', 5), OLD, 0)).toBe('ignored');
  expect(sessions.admit(full('boot 12', 5), OLD, 0)).toBe('beside');
});

test('of those that may be forgotten, the first that left goes before the first that is alive', () => {
  const { sessions } = heard();
  const own = (name: string) => pod(name, 1000);
  const others = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  sessions.admit(full('counts', 5), NEW, 0);
  for (const name of others) sessions.admit(full(name, 5), own(name), 0);
  sessions.podGone('c', 0);
  for (const name of ['h', 'i']) sessions.admit(full(name, 5), own(name), 0);
  for (const name of ['b', 'd', 'e', 'f', 'g', 'h', 'i']) {
    expect(sessions.admit(full(name, 5), own(name), 0)).toBe('ignored');
  }
  expect(sessions.admit(full('a', 5), own('a'), 0)).toBe('beside');
});

describe('of agents that all left', () => {
  const both = (last: 'old' | 'new') => {
    const sessions = new AgentSessions(WINDOW_MS, createIntern());
    sessions.admit(full('a', 1, { ready: false }), OLD, 0);
    sessions.admit(full('b', 1, { ready: true }), NEW, last === 'new' ? 1 : 0);
    sessions.admit({ ...heartbeat('b', 2), leaving: true }, NEW, last === 'new' ? 1 : 0);
    if (last === 'old') sessions.admit(heartbeat('a', 2), OLD, 1);
    sessions.podGone('old', 2);
    return sessions.content?.services[0]?.ready;
  };

  test('the one that spoke last counts', () => {
    expect(both('new')).toBe(true);
    expect(both('old')).toBe(false);
  });

  test('the one that spoke last counts, even if it was the first to leave', () => {
    const { sessions, ready } = heard();
    sessions.admit(full('b', 1, { ready: true }), NEW, 0);
    sessions.admit(full('a', 1, { ready: false }), OLD, 1);
    sessions.podGone('old', 2);
    expect(ready()).toBe(true);
    sessions.podGone('new', 3);
    expect(ready()).toBe(false);
  });
});

test('a newer boot of a pod ends the one before it, which had no time for a goodbye', () => {
  const sessions = new AgentSessions(WINDOW_MS, createIntern());
  sessions.admit(full('a', 1, { ready: false }), OLD, 0);
  sessions.admit(full('b', 1, { ready: true }), OLD, 1);
  expect(sessions.admit({ ...heartbeat('b', 2), leaving: true }, OLD, 2)).toBe('leaving');
  expect(sessions.content?.services[0]?.ready).toBe(true);
});

describe('a session that is over', () => {
  const goodbye = { ...heartbeat('b', 2), leaving: true };

  function restarted() {
    const staged = heard();
    staged.sessions.admit(full('a', 1, { ready: false }), OLD, 0);
    staged.sessions.admit(full('b', 1), OLD, 1000);
    return staged;
  }

  test('does not cancel the goodbye of the newer session of its pod', () => {
    const { sessions, ready } = restarted();
    expect(sessions.admit(goodbye, OLD, 2000)).toBe('leaving');
    expect(sessions.admit(full('a', 2, { ready: false }), OLD, 3000)).toBe('superseded');
    expect(sessions.admit({ ...full('a', 3, { ready: false }), leaving: true }, OLD, 3000)).toBe('beside');
    expect([sessions.speaker, ready()]).toEqual(['b', true]);
    expect(sessions.podGone('old', 4000)).toBe(true);
  });

  test('does not count again when the newer one is silent', () => {
    const { sessions, ready } = restarted();
    expect(sessions.admit(full('a', 2, { ready: false }), OLD, 1000 + WINDOW_MS)).toBe('superseded');
    expect([sessions.speaker, ready()]).toEqual(['b', true]);
  });

  test('does not count before the newer one has said what it sees', () => {
    const { sessions, ready } = heard();
    sessions.admit(full('a', 1), OLD, 0);
    expect(sessions.admit(heartbeat('b', 1), OLD, 0)).toBe('unknown-digest');
    expect(sessions.admit(full('a', 2, { ready: false }), OLD, 0)).toBe('superseded');
    expect(ready()).toBe(true);
  });

  test('is also the session of a pod that is gone: a report that was under way does not count', () => {
    const { sessions, ready } = heard();
    sessions.admit(full('a', 1), OLD, 0);
    expect(sessions.podGone('old', 0)).toBe(true);
    expect(sessions.admit(full('a', 2, { ready: false }), OLD, 0)).toBe('superseded');
    expect(ready()).toBe(true);
    expect(sessions.podGone('old', 0)).toBe(true);
  });

  test('begins anew after seven newer ones, and ends only the session that counts then', () => {
    const { sessions } = heard();
    const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
    for (const id of ids) expect(sessions.admit(full(id, 1), OLD, 0)).toBe('content');
    expect(sessions.admit(full('b', 2), OLD, 0)).toBe('superseded');
    expect(sessions.admit(full('a', 2), OLD, 0)).toBe('content');
    expect(sessions.admit(full('i', 2), OLD, 0)).toBe('superseded');
    expect(sessions.admit(full('j', 1), OLD, 0)).toBe('content');
  });
});

describe('a service that was sent to an agent', () => {
  const [a, b] = [
    { name: 'a', digest: 'a', probe: { kind: 'tcp' } },
    { name: 'b', digest: 'b', probe: { kind: 'tcp' } },
  ] as const;

  test('is known since it was told first, and forgotten when it is not told any more', () => {
    const { sessions } = heard();
    sessions.admit(full('one', 1), OLD, 0);
    sessions.noteSent('one', 'old', [a, b], 10);
    sessions.noteSent('one', 'old', [a], 20);
    sessions.noteSent('one', 'old', [a, b], 30);
    expect([sessions.sentMs.get('a'), sessions.sentMs.get('b')]).toEqual([10, 30]);
  });

  test('was told to that agent alone: one that has just started knows of nothing', () => {
    const { sessions } = heard();
    sessions.admit(full('one', 1), OLD, 0);
    sessions.noteSent('one', 'old', [a], 10);
    sessions.admit(full('two', 1), NEW, 20);
    expect(sessions.sentMs.size).toBe(0);
    sessions.noteSent('two', 'new', [a], 20);
    expect(sessions.sentMs.get('a')).toBe(20);
  });

  test('counts anew after it was silent: the reply may not have reached it', () => {
    const { sessions } = heard();
    sessions.admit(full('one', 1), OLD, 0);
    sessions.noteSent('one', 'old', [a], 0);
    sessions.admit(heartbeat('one', 2), OLD, WINDOW_MS - 1);
    expect(sessions.sentMs.get('a')).toBe(0);
    sessions.admit(heartbeat('one', 3), OLD, 2 * WINDOW_MS);
    expect(sessions.sentMs.size).toBe(0);
  });

  test('is known again after it was silent, also where it is told the very same', () => {
    const { sessions } = heard();
    const services = [a];
    sessions.admit(full('one', 1), OLD, 0);
    sessions.noteSent('one', 'old', services, 0);
    sessions.admit(heartbeat('one', 2), OLD, WINDOW_MS);
    sessions.noteSent('one', 'old', services, WINDOW_MS);
    sessions.admit(heartbeat('one', 3), OLD, WINDOW_MS + 1000);
    expect(sessions.sentMs.get('a')).toBe(WINDOW_MS);
  });
});
