import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { describe, expect, it } from 'vitest';
import { ConnectionLimiter, type ConnectionLimits } from './connection-limiter.ts';

class FakeSocket {
  destroyed = false;
  bytesRead = 0;
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
  destroy() {
    this.destroyed = true;
  }
}

function setUp(limits: Partial<ConnectionLimits> = {}) {
  const clock = new FakeClock();
  const begun: string[] = [];
  const closed: string[] = [];
  const limiter = new ConnectionLimiter<FakeSocket>({
    begin: ({ name }) => begun.push(name),
    clock,
    limits,
    onClosed: (reason) => closed.push(reason),
  });
  const arrive = (name: string) => {
    const socket = new FakeSocket(name);
    limiter.arrived(socket);
    return socket;
  };
  return { clock, limiter, begun, closed, arrive };
}

describe('a stranger', () => {
  it('has 10 s to its first request', async () => {
    const { clock, arrive, closed } = setUp();
    const socket = arrive('a');
    await clock.advance(9_999);
    expect(socket.destroyed).toBe(false);
    await clock.advance(1);
    expect(socket.destroyed).toBe(true);
    expect(closed).toEqual(['no request']);
  });

  it('has 5 s after a refusal', async () => {
    const { clock, limiter, arrive, closed } = setUp();
    const socket = arrive('a');
    await clock.advance(8_000);
    limiter.asked(socket);
    await clock.advance(3_000);
    limiter.answered(socket, 'refused');
    await clock.advance(4_900);
    expect(socket.destroyed).toBe(false);
    await clock.advance(500);
    expect(closed).toEqual(['idle']);
  });

  it('is refused three times, and no more', () => {
    const { limiter, arrive } = setUp();
    const socket = arrive('a');
    const last = [1, 2, 3].map(() => {
      const { isLast } = limiter.asked(socket);
      limiter.answered(socket, 'refused');
      return isLast;
    });
    expect(last).toEqual([false, false, true]);
  });

  it('makes room when it is 2 s old, the oldest first', async () => {
    const { clock, arrive, begun, closed } = setUp({ unauthenticatedMax: 2 });
    const [a, b] = [arrive('a'), arrive('b')];
    await clock.advance(2_000);
    arrive('c');
    expect([a.destroyed, b.destroyed]).toEqual([true, false]);
    expect(begun).toEqual(['a', 'b', 'c']);
    expect(closed).toEqual(['full']);
  });

  it('is not closed for another before, which waits without being read from', async () => {
    const { clock, arrive, begun, limiter } = setUp({ unauthenticatedMax: 2 });
    const [a] = [arrive('a'), arrive('b')];
    await clock.advance(1_000);
    arrive('c');
    expect(begun).toEqual(['a', 'b']);
    expect(limiter.counts).toEqual({ waiting: 1, unauthenticated: 2, known: 0 });
    limiter.gone(a);
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  it('waits no longer than an agent would, and not with too many others', async () => {
    const { clock, arrive, closed } = setUp({
      unauthenticatedMax: 1,
      waitingMax: 1,
      settledMs: 60_000,
      firstRequestMs: 60_000,
    });
    arrive('a');
    const b = arrive('b');
    expect(arrive('c').destroyed).toBe(true);
    await clock.advance(5_100);
    expect(b.destroyed).toBe(true);
    expect(closed).toEqual(['queue full', 'waited']);
  });

  it('begins its handshake when its turn comes: so many a second', async () => {
    const { clock, arrive, begun } = setUp({ beginsPerSecond: 10 });
    for (let index = 0; index < 30; index += 1) arrive(`${index}`);
    expect(begun).toHaveLength(10);
    await clock.advance(1_000);
    expect(begun).toHaveLength(20);
  });

  it('is one of 1,024, and of 400 that begin in a second, where 1,024 others may wait', async () => {
    const { clock, arrive, begun, closed, limiter } = setUp({ settledMs: 60_000, firstRequestMs: 60_000 });
    for (let index = 0; index < 1424; index += 1) arrive(`${index}`);
    expect([begun.length, limiter.counts.waiting, closed]).toEqual([400, 1024, []]);
    arrive('one more');
    expect(closed).toEqual(['queue full']);
    await clock.advance(999);
    expect(begun.length).toBeLessThanOrEqual(800);
    await clock.advance(2_000);
    expect(limiter.counts).toEqual({ waiting: 400, unauthenticated: 1024, known: 0 });
  });

  it('may wait for 5 s, and is closed then although the queue is long', async () => {
    const { clock, arrive, closed } = setUp({ unauthenticatedMax: 1, settledMs: 60_000, firstRequestMs: 60_000 });
    arrive('a');
    const first = arrive('b');
    await clock.advance(1000);
    const second = arrive('c');
    await clock.advance(3_980);
    expect([first.destroyed, second.destroyed]).toEqual([false, false]);
    await clock.advance(40);
    expect([first.destroyed, second.destroyed]).toEqual([true, false]);
    expect(closed).toEqual(['waited']);
  });

  it('that waits alone begins within 20 ms of when there is room', async () => {
    const { clock, arrive, begun } = setUp({ unauthenticatedMax: 1, settledMs: 2_030 });
    arrive('a');
    arrive('b');
    await clock.advance(2_029);
    expect(begun).toEqual(['a']);
    await clock.advance(20);
    expect(begun).toEqual(['a', 'b']);
  });

  it('that is gone while it waits is counted no more, and the next one has its turn', () => {
    const { arrive, limiter, begun } = setUp({ unauthenticatedMax: 1 });
    const [a, b] = [arrive('a'), arrive('b')];
    arrive('c');
    limiter.gone(b);
    expect(limiter.counts).toEqual({ waiting: 1, unauthenticated: 1, known: 0 });
    limiter.gone(a);
    expect(begun).toEqual(['a', 'c']);
  });

  it('whose request is under way has 20 s', async () => {
    const { clock, limiter, arrive, closed } = setUp();
    const socket = arrive('a');
    await clock.advance(9_000);
    limiter.asked(socket);
    await clock.advance(19_900);
    expect(socket.destroyed).toBe(false);
    await clock.advance(400);
    expect(closed).toEqual(['idle']);
  });

  it('is not refused for the last time where a report was accepted in between', () => {
    const { limiter, arrive } = setUp();
    const socket = arrive('a');
    const last = (['refused', 'unauthenticated', 'accepted', 'unauthenticated', 'refused', 'accepted'] as const).map(
      (outcome) => {
        const { isLast } = limiter.asked(socket);
        limiter.answered(socket, outcome);
        return isLast;
      },
    );
    expect(last).toEqual([false, false, true, false, false, true]);
  });

  it('that is known no more has no further request', () => {
    const { limiter, arrive } = setUp();
    const socket = arrive('a');
    limiter.gone(socket);
    expect(limiter.asked(socket)).toEqual({ isLast: true });
    limiter.answered(socket, 'refused');
    limiter.accepted(socket, 'pod');
    expect(limiter.counts).toEqual({ waiting: 0, unauthenticated: 0, known: 0 });
  });

  it('that left while it waited takes no turn', async () => {
    const { clock, limiter, arrive, begun } = setUp({ unauthenticatedMax: 1 });
    arrive('a');
    arrive('b').destroy();
    arrive('c');
    expect(limiter.counts).toEqual({ waiting: 1, unauthenticated: 1, known: 0 });
    await clock.advance(2_500);
    expect(begun).toEqual(['a', 'c']);
  });
});

describe('a connection with an accepted token', () => {
  it('holds no place of a stranger, and is not closed for one', async () => {
    const { clock, limiter, arrive } = setUp({ unauthenticatedMax: 1 });
    const known = arrive('a');
    limiter.asked(known);
    limiter.accepted(known, 'pod');
    limiter.answered(known, 'accepted');
    for (let index = 0; index < 10; index += 1) {
      arrive(`${index}`);
      await clock.advance(3_000);
    }
    expect(known.destroyed).toBe(false);
    expect(limiter.counts).toMatchObject({ known: 1 });
  });

  it('is one of four of its pod: the oldest goes', () => {
    const { limiter, arrive, closed } = setUp();
    const sockets = Array.from({ length: 5 }, (_, index) => arrive(`${index}`));
    for (const socket of sockets) limiter.accepted(socket, 'pod');
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, false, false, false, false]);
    expect(closed).toEqual(['pod']);
    const other = arrive('other');
    limiter.accepted(other, 'another pod');
    expect(limiter.counts).toMatchObject({ known: 5 });
  });

  it('that is gone makes room for another of its pod', () => {
    const { limiter, arrive } = setUp();
    const sockets = Array.from({ length: 4 }, (_, index) => arrive(`${index}`));
    for (const socket of sockets) limiter.accepted(socket, 'pod');
    limiter.gone(sockets[1] as (typeof sockets)[number]);
    limiter.accepted(arrive('new'), 'pod');
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, false, false, false]);
    expect(limiter.counts.known).toBe(4);
  });

  it('lets a stranger begin that waits', () => {
    const { limiter, arrive, begun } = setUp({ unauthenticatedMax: 1 });
    const known = arrive('a');
    arrive('b');
    limiter.accepted(known, 'pod');
    expect(begun).toEqual(['a', 'b']);
    limiter.accepted(known, 'another pod');
    expect(limiter.counts).toEqual({ waiting: 0, unauthenticated: 1, known: 1 });
  });

  it('stays one where its node is throttled, or what it sends is wrong', () => {
    const { limiter, arrive } = setUp();
    const socket = arrive('a');
    limiter.accepted(socket, 'pod');
    for (const outcome of ['refused', 'accepted', 'refused', 'refused'] as const) limiter.answered(socket, outcome);
    expect(limiter.counts).toEqual({ waiting: 0, unauthenticated: 0, known: 1 });
    expect(limiter.asked(socket)).toEqual({ isLast: true });
  });

  it('counts as a stranger again when its token is refused', async () => {
    const { clock, limiter, arrive } = setUp();
    const socket = arrive('a');
    limiter.accepted(socket, 'pod');
    limiter.answered(socket, 'accepted');
    await clock.advance(60_000);
    expect(socket.destroyed).toBe(false);
    limiter.asked(socket);
    limiter.answered(socket, 'unauthenticated');
    expect(limiter.counts).toEqual({ waiting: 0, unauthenticated: 1, known: 0 });
    await clock.advance(5_500);
    expect(socket.destroyed).toBe(true);
  });
});

it('closes what nothing was asked on when it stops, and keeps no timer', async () => {
  const { clock, limiter, arrive } = setUp({ unauthenticatedMax: 2 });
  const [silent, asking, waiting] = [arrive('a'), arrive('b'), arrive('c')];
  limiter.asked(asking);
  limiter.stop();
  expect([silent.destroyed, asking.destroyed, waiting.destroyed]).toEqual([true, false, true]);
  limiter.gone(asking);
  await clock.advance(1_000);
  expect(clock.pendingTimers).toBe(0);
});

describe('bytes without content', () => {
  it('end a connection beyond 32 KiB, before and after its handshake', async () => {
    const { clock, limiter, arrive, closed } = setUp();
    const [a, b] = [arrive('a'), arrive('b')];
    const content = { bytesRead: 0 };
    limiter.secured(b, content);
    a.bytesRead = 32 * 1024;
    b.bytesRead = 40 * 1024;
    content.bytesRead = 2 * 1024;
    await clock.advance(20);
    expect(closed).toEqual([]);
    a.bytesRead += 1;
    b.bytesRead += 1;
    await clock.advance(20);
    expect([a.destroyed, b.destroyed, closed]).toEqual([true, true, ['no progress', 'no progress']]);
  });

  it('end the connection of an accepted client within 250 ms, and content is not counted', async () => {
    const { clock, limiter, arrive } = setUp();
    const [honest, stolen] = [arrive('honest'), arrive('stolen')];
    const content = { bytesRead: 0 };
    limiter.secured(honest, content);
    for (const socket of [honest, stolen]) limiter.accepted(socket, socket.name);
    honest.bytesRead = 1_000_000;
    content.bytesRead = 900_000;
    stolen.bytesRead = 33_000;
    await clock.advance(500);
    expect([honest.destroyed, stolen.destroyed]).toEqual([false, true]);
  });

  it('cost the strangers that could have asked by now, where too many connections change keys again and again', async () => {
    const { clock, limiter, arrive, closed } = setUp();
    const accepted = arrive('accepted');
    const strangers = Array.from({ length: 100 }, (_, index) => arrive(`${index}`));
    for (const socket of [accepted, ...strangers]) limiter.secured(socket, { bytesRead: 0 });
    limiter.accepted(accepted, 'pod');
    await clock.advance(100);
    const [young, handshaking] = [arrive('young'), arrive('handshaking')];
    limiter.secured(young, { bytesRead: 0 });
    const change = (count: number) => {
      for (const socket of strangers.slice(0, 9))
        for (let time = 0; time < count; time += 1) limiter.keyUpdated(socket);
    };
    change(8);
    expect(closed).toEqual([]);
    change(1);
    expect(strangers.filter(({ destroyed }) => !destroyed)).toEqual([]);
    expect([accepted, young, handshaking].map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
    expect(new Set(closed)).toEqual(new Set(['no progress']));
  });

  it('are paid by the connections that come next: one for each 2 KiB, and 16 at most', async () => {
    const { clock, limiter, arrive, begun } = setUp({ beginsPerSecond: 10 });
    const a = arrive('a');
    limiter.secured(a, { bytesRead: 0 });
    a.bytesRead = 20_000 * 2048;
    limiter.gone(a);
    arrive('b');
    // Of ten at once, it took 17.
    await clock.advance(790);
    expect(begun).toEqual(['a']);
    await clock.advance(50);
    expect(begun).toEqual(['a', 'b']);
  });
});
