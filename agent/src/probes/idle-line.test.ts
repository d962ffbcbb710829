import { describe, expect, it, onTestFinished } from 'vitest';
import { idleLine } from './idle-line.ts';
import { eventually, within } from './testing/limits.ts';
import { createRawServer, listenOnLoopback } from './testing/servers.ts';
import type { ProbeResult } from './types.ts';

async function open() {
  const server = await listenOnLoopback(createRawServer((socket) => socket.resume()));
  onTestFinished(server.close);
  let asked = 0;
  const answer: ProbeResult = { verdict: 'healthy', evidence: 'accepted', latencyMs: 1 };
  const probe = async () => {
    asked += 1;
    return answer;
  };
  let lost = 0;
  const line = idleLine(
    probe,
    5,
  )(() => {
    lost += 1;
  });
  onTestFinished(() => line.release());
  return { server, line, answer, asked: () => asked, lost: () => lost };
}

describe('a line that is held idle', () => {
  it('is asked nothing while it stands, unless it has to be', async () => {
    const { server, line, answer, asked } = await open();
    expect(await line.ask(server, within(5000), true)).toBe(answer);
    line.hold(server);
    // It is not taken yet.
    await line.ask(server, within(5000), false);
    expect(asked()).toBe(2);
    await eventually(async () => {
      expect(await line.ask(server, within(5000), false)).toEqual({ verdict: 'healthy', evidence: 'accepted' });
    });
    const before = asked();
    await line.ask(server, within(5000), true);
    expect(asked()).toBe(before + 1);
  });

  it('is asked again when it was lost or let go', async () => {
    const { server, line, asked, lost } = await open();
    line.hold(server);
    await eventually(() => expect(server.connections.size).toBe(1));
    for (const socket of server.connections) socket.end();
    await eventually(() => expect(lost()).toBe(1));
    await line.ask(server, within(5000), false);
    expect(asked()).toBe(1);
    line.hold(server);
    line.release();
    await line.ask(server, within(5000), false);
    expect(asked()).toBe(2);
  });

  it('is asked over a new connection in every round by default', () => {
    const probe = () => Promise.resolve<ProbeResult>({ verdict: 'healthy', evidence: 'accepted' });
    expect(idleLine(probe)(() => {}).freshEveryRounds).toBe(1);
    expect(idleLine(probe, 5)(() => {}).freshEveryRounds).toBe(5);
  });
});
