import { expect, test } from 'vitest';
import type { Election } from './election.ts';
import { LeadershipState } from './leadership-state.ts';

function leadershipState() {
  const program = new AbortController();
  const election = { isLeading: true, silentMs: 0 };
  const stood = new LeadershipState(program.signal);
  const join = () =>
    stood.joined({
      isLeading: () => election.isLeading,
      silentMs: () => election.silentMs,
      remainingMs: () => (election.isLeading ? 10_000 : 0),
    } as Election);
  return { stood, election, join, program };
}

test('before it has joined an election it leads nothing and may write nothing', () => {
  const { stood } = leadershipState();
  expect([stood.leads(), stood.mayDecide(), stood.fence.remainingMs()]).toEqual([false, false, 0]);
  expect(stood.role()).toEqual({ leading: false });
});

test('a term decides from when it is told to until another replica leads, or the program stops', () => {
  const { stood, join, program } = leadershipState();
  join();
  const first = stood.begin();
  expect([stood.leads(), stood.mayDecide()]).toEqual([true, false]);
  first.decide();
  expect(stood.mayDecide()).toBe(true);
  stood.standBy({ leaderUrl: 'https://other' });
  expect([stood.leads(), stood.mayDecide(), first.signal.aborted]).toEqual([false, false, true]);
  stood.begin().decide();
  expect(stood.mayDecide()).toBe(true);
  program.abort();
  expect([stood.leads(), stood.mayDecide()]).toEqual([false, false]);
});

test('what a term that is over learns late does not let the next one decide', () => {
  const { stood, join } = leadershipState();
  join();
  const first = stood.begin();
  stood.standBy();
  stood.begin();
  first.decide();
  expect(stood.mayDecide()).toBe(false);
});

test('no agent is sent to a leader that is silent, or to this one when it may not write', () => {
  const { stood, join, election } = leadershipState();
  join();
  stood.standBy({
    leaderUrl: 'https://other',
    leader: 'pod-2',
    schedulerUrl: 'https://other:8888',
    consoleUrl: 'http://other:8090',
  });
  expect(stood.role()).toEqual({ leading: false, leaderUrl: 'https://other', leader: 'pod-2' });
  expect(stood.leaderSchedulerUrl()).toBe('https://other:8888');
  expect(stood.leaderConsoleUrl()).toBe('http://other:8090');
  election.silentMs = 5000;
  expect(stood.role().leading).toBe(false);
  expect(stood.leaderSchedulerUrl()).toBe('https://other:8888');
  election.silentMs = 5001;
  expect(stood.role()).toEqual({ leading: false });
  expect(stood.leaderSchedulerUrl()).toBeUndefined();
  expect(stood.leaderConsoleUrl()).toBeUndefined();
  stood.begin();
  expect(stood.role()).toEqual({ leading: true });
  election.isLeading = false;
  expect(stood.role()).toEqual({ leading: false });
});

test('a term that begins after the program was stopped is over, and so is the one before another', () => {
  const { stood, join, program } = leadershipState();
  join();
  const first = stood.begin();
  const second = stood.begin();
  expect([first.signal.aborted, second.signal.aborted]).toEqual([true, false]);
  program.abort();
  const third = stood.begin();
  third.decide();
  expect([second.signal.aborted, third.signal.aborted, stood.mayDecide()]).toEqual([true, true, false]);
});

test('a replica that leads does not name the scheduler or the console of who led before', () => {
  const { stood, join } = leadershipState();
  join();
  stood.standBy({ leaderUrl: 'https://other', schedulerUrl: 'https://other:8888', consoleUrl: 'http://other:8090' });
  stood.begin();
  expect([stood.leaderSchedulerUrl(), stood.leaderConsoleUrl()]).toEqual([undefined, undefined]);
});
