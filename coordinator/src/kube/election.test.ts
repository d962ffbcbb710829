import { describe, expect, it } from 'vitest';
import { createSoleLeader } from './election.ts';

describe('createSoleLeader', () => {
  it('leads from the start until it is stopped', async () => {
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
    expect(election.remainingMs()).toBe(0);
    const running = election.run();
    expect(election.isLeading()).toBe(true);
    expect(election.remainingMs()).toBe(10_000);
    stop.abort();
    expect(election.remainingMs()).toBe(0);
    await running;
    await election.release(Promise.reject(new Error('a write failed')));
    expect(events).toEqual([['https://me', 'me'], 1, 'stopped']);
  });
});
