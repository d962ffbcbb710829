import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HealthChecks } from './health.ts';
import { closeServer, listen } from './http-server.ts';
import { createRegistry } from './metrics.ts';
import { createObservabilityServer } from './observability-server.ts';
import { fuzzTimeoutMs } from './testing/fuzz.ts';
import { hostileRequests, problemOfResponse, requestProperty, sendBytes, statusOf } from './testing/hostile-http.ts';

const RUNS = 300;
const server = createObservabilityServer({
  health: new HealthChecks(),
  readiness: new HealthChecks(),
  registry: createRegistry('rollcall_agent'),
});
let port: number;
beforeAll(async () => {
  ({ port } = await listen(server, { host: '127.0.0.1', port: 0 }));
});
afterAll(() => closeServer(server, 0));

test('the health listener answers any bytes or closes the connection, and serves the next client', {
  timeout: fuzzTimeoutMs(RUNS),
}, async () => {
  const bytes = hostileRequests(['/healthz', '/readyz?verbose', '/metrics', '/healthz/healthz']);
  await fc.assert(
    fc.asyncProperty(bytes, async (request) => {
      expect(problemOfResponse(await sendBytes(port, request))).toBeUndefined();
      expect(await statusOf(port, '/healthz')).toBe(200);
    }),
    requestProperty(RUNS),
  );
});
