import { fuzzTimeoutMs } from '@rollcall/common/testing/fuzz.ts';
import {
  hostileRequests,
  problemOfResponse,
  requestProperty,
  sendBytes,
  statusOf,
} from '@rollcall/common/testing/hostile-http.ts';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FILTER, PREDICATES, startExtender } from './extender.test-fixtures.ts';

const RUNS = 300;
let extender: Awaited<ReturnType<typeof startExtender>>;
beforeAll(async () => {
  extender = await startExtender(new Map());
});
afterAll(() => extender.stop());

test('the scheduler extender answers any bytes or closes the connection, and serves the next client', {
  timeout: fuzzTimeoutMs(RUNS),
}, async () => {
  await fc.assert(
    fc.asyncProperty(hostileRequests([FILTER, PREDICATES, '/status', '/status?a']), async (request) => {
      expect(problemOfResponse(await sendBytes(extender.port, request))).toBeUndefined();
      expect(await statusOf(extender.port, '/status')).toBe(200);
    }),
    requestProperty(RUNS),
  );
});
