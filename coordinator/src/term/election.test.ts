import { describe, expect, it } from 'vitest';
import { candidateIdentity, createSoleLeader, nameOfCandidate } from './election.ts';

function started() {
  const stop = new AbortController();
  const events: unknown[] = [];
  const election = createSoleLeader({
    identity: 'me',
    leaderUrl: 'https://me',
    signal: stop.signal,
    callbacks: {
      onStartedLeading: (term) => events.push(term),
      onStoppedLeading: () => events.push('stopped'),
      onLeaderChanged: (url, identity) => events.push([url, identity]),
    },
  });
  return { stop, events, election };
}

const STARTED = [['https://me', 'me'], 1];

describe('createSoleLeader', () => {
  it('leads from the start until it is stopped', async () => {
    const { stop, events, election } = started();
    expect([election.isLeading(), election.remainingMs()]).toEqual([false, 0]);
    const running = election.run();
    expect([election.isLeading(), election.remainingMs(), election.silentMs()]).toEqual([true, 10_000, 0]);
    stop.abort();
    expect([election.isLeading(), election.remainingMs()]).toEqual([false, 0]);
    await running;
    expect(events).toEqual([...STARTED, 'stopped']);
    await election.release(Promise.reject(new Error('a write failed')));
    expect(events).toEqual([...STARTED, 'stopped']);
  });

  it('stops leading when it is released, and waits for the writes under way', async () => {
    const { stop, events, election } = started();
    const running = election.run();
    const { promise: writes, resolve: settle } = Promise.withResolvers<void>();
    const releasing = election.release(writes.then(() => events.push('settled')));
    expect(election.isLeading()).toBe(false);
    settle();
    await releasing;
    expect(events).toEqual([...STARTED, 'stopped', 'settled']);
    stop.abort();
    await running;
    expect(events).toHaveLength(4);
  });

  it('does not begin when it is stopped before', async () => {
    const { stop, events, election } = started();
    stop.abort();
    const running = election.run();
    expect(events).toEqual([]);
    await running;
  });
});

it('finds the pod in the identity of a candidate', () => {
  expect(nameOfCandidate(candidateIdentity('host_with_blanks', 'a-uuid'))).toBe('host_with_blanks');
});
