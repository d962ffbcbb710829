import { describe, expect, test } from 'vitest';
import { Endpoints } from './report-sender.ts';

const A = 'https://a:8443';
const B = 'https://b:8443';
const LEADER = 'https://leader:8443';

describe('Endpoints', () => {
  test('goes through the list in order, round and round', () => {
    const endpoints = new Endpoints([A, `${B}/`]);
    const seen = [endpoints.current];
    for (let i = 0; i < 3; i += 1) {
      endpoints.failed();
      seen.push(endpoints.current);
    }
    expect(seen).toEqual([A, B, A, B]);
  });

  test('stays where a report was accepted', () => {
    const endpoints = new Endpoints([A, B]);
    endpoints.failed();
    endpoints.accepted(B);
    expect(endpoints.current).toBe(B);
  });

  test('says when every endpoint has failed: after the leader comes the whole list', () => {
    const endpoints = new Endpoints([A, B]);
    expect([endpoints.failed(), endpoints.failed(), endpoints.failed()]).toEqual([false, true, false]);
    endpoints.accepted(LEADER);
    expect([endpoints.failed(), endpoints.failed(), endpoints.failed()]).toEqual([false, false, true]);
  });

  test('goes to the leader until that fails, then back to the replica that named it', () => {
    const endpoints = new Endpoints([A, B]);
    endpoints.failed();
    endpoints.accepted(LEADER);
    expect(endpoints.current).toBe(LEADER);
    endpoints.failed();
    expect(endpoints.current).toBe(B);
    endpoints.failed();
    expect(endpoints.current).toBe(A);
  });
});
