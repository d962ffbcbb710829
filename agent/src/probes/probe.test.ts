import { systemClock } from '@rollcall/common/clock.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { describe, expect, it } from 'vitest';
import { createProbe, formatTarget, type ProbeAnswer, ProbeTimeout } from './probe.ts';
import type { ProbeAddress, ProbeResult } from './types.ts';

const TARGET = { host: '192.0.2.1', port: 80 };
const HEALTHY: ProbeAnswer = { healthy: true, says: 'is well' };

function failure(code: string, syscall?: string): Error {
  return Object.assign(new Error('message with a pointer 0x7f'), { code, ...(syscall ? { syscall } : {}) });
}

/** Probes with attempts that end as listed, in order, and counts them. */
async function probeWith(
  outcomes: (ProbeAnswer | Error)[],
  target: ProbeAddress = TARGET,
): Promise<ProbeResult & { attempts: number }> {
  let attempts = 0;
  const probe = createProbe('test', systemClock, () => {
    const outcome = outcomes[attempts];
    attempts += 1;
    return outcome && !(outcome instanceof Error) ? Promise.resolve(outcome) : Promise.reject(outcome);
  });
  return { ...(await probe(target, new AbortController().signal)), attempts };
}

describe('createProbe', () => {
  it('is healthy on the right answer and soft on a wrong one, without a second attempt', async () => {
    expect(await probeWith([HEALTHY])).toMatchObject({
      verdict: 'healthy',
      evidence: 'test 192.0.2.1:80 is well',
      attempts: 1,
    });
    expect(await probeWith([{ healthy: false, says: 'is ill' }])).toMatchObject({
      verdict: 'soft',
      evidence: 'test 192.0.2.1:80 is ill',
      attempts: 1,
    });
  });

  it.each([
    ['refused', failure('ECONNREFUSED', 'connect')],
    ['reset', failure('ECONNRESET', 'read')],
    ['closed', failure('ECONNRESET')],
  ])('asks once more when the connection was %s, and uses the second answer', async (_, error) => {
    expect(await probeWith([error, HEALTHY])).toMatchObject({ verdict: 'healthy', attempts: 2 });
    expect(await probeWith([error, { healthy: false, says: 'is ill' }])).toMatchObject({
      verdict: 'soft',
      attempts: 2,
    });
    expect(await probeWith([error, failure('EHOSTUNREACH', 'connect')])).toMatchObject({
      verdict: 'soft',
      attempts: 2,
    });
  });

  it('takes a connection that was refused or reset twice as proof', async () => {
    const refused = failure('ECONNREFUSED', 'connect');
    const reset = failure('ECONNRESET', 'read');
    expect(await probeWith([refused, refused])).toMatchObject({
      verdict: 'hard',
      evidence: 'test 192.0.2.1:80 refused the connection twice (ECONNREFUSED)',
      attempts: 2,
    });
    expect(await probeWith([reset, refused])).toMatchObject({ verdict: 'hard', attempts: 2 });
    expect(await probeWith([reset, reset])).toMatchObject({
      verdict: 'hard',
      evidence: 'test 192.0.2.1:80 reset the connection twice (ECONNRESET)',
    });
  });

  it('does not take an orderly close as proof', async () => {
    expect(await probeWith([failure('ECONNRESET'), failure('ECONNRESET')])).toMatchObject({
      verdict: 'soft',
      evidence: 'test 192.0.2.1:80 closed the connection without an answer',
    });
  });

  it.each(['EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EPIPE', 'EPROTO'])(
    'is soft on %s at once, with the code and not the message as evidence',
    async (code) => {
      expect(await probeWith([failure(code, 'connect')])).toMatchObject({
        verdict: 'soft',
        evidence: `test 192.0.2.1:80 failed the probe (${code})`,
        attempts: 1,
      });
    },
  );

  it.each<[string, ProbeResult['verdict'], string, number]>([
    ['ECONNREFUSED', 'hard', 'has no listener (ECONNREFUSED)', 2],
    ['ENOENT', 'hard', 'is not there (ENOENT)', 2],
    ['EACCES', 'soft', 'is not permitted to this agent (EACCES)', 1],
    ['EPERM', 'soft', 'is not permitted to this agent (EPERM)', 1],
    ['EAGAIN', 'soft', 'takes no more connections (EAGAIN)', 1],
  ])('says of a socket file what %s means', async (code, verdict, says, attempts) => {
    const errors = [failure(code, 'connect'), failure(code, 'connect')];
    expect(await probeWith(errors, { path: '/run/x' })).toMatchObject({
      verdict,
      evidence: `test /run/x ${says}`,
      attempts,
    });
  });

  it('needs no second attempt where an answer is proof', async () => {
    const answer: ProbeAnswer = { healthy: false, isProof: true, says: 'is none' };
    expect(await probeWith([answer])).toMatchObject({
      verdict: 'hard',
      evidence: 'test 192.0.2.1:80 is none',
      attempts: 1,
    });
  });

  it('says how long it waited when its time was over, and does not ask again', async () => {
    const controller = new AbortController();
    let attempts = 0;
    const probe = createProbe('test', systemClock, () => {
      attempts += 1;
      controller.abort(new ProbeTimeout(250));
      return Promise.reject(failure('ECONNREFUSED', 'connect'));
    });
    expect(await probe(TARGET, controller.signal)).toMatchObject({
      verdict: 'soft',
      evidence: 'test 192.0.2.1:80 did not answer within 250 ms',
    });
    expect(attempts).toBe(1);
  });

  it('measures how long it took, by the monotonic clock', async () => {
    const clock = new FakeClock();
    await clock.advance(5000);
    const probe = createProbe('test', clock, async () => {
      clock.jumpWallClock(-60_000);
      await clock.advance(12);
      return HEALTHY;
    });
    expect((await probe(TARGET, new AbortController().signal)).latencyMs).toBe(12);
  });
});

describe('formatTarget', () => {
  it('puts IPv6 addresses in brackets', () => {
    expect(formatTarget({ host: '::1', port: 8080 })).toBe('[::1]:8080');
    expect(formatTarget({ host: 'node.example', port: 8080 })).toBe('node.example:8080');
  });
});
