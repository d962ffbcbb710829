import { FakeClock } from '@rollcall/common/fake-clock.ts';
import { describe, expect, it } from 'vitest';
import { TokenBucket } from './token-bucket.ts';

function takeAll(bucket: TokenBucket): number {
  let taken = 0;
  while (bucket.take()) taken += 1;
  return taken;
}

describe('TokenBucket', () => {
  it('allows a burst, then one for every refill time', async () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket({ clock, capacity: 5, refillMs: 1000 });
    expect(takeAll(bucket)).toBe(5);
    await clock.advance(999);
    expect(takeAll(bucket)).toBe(0);
    await clock.advance(1);
    expect(takeAll(bucket)).toBe(1);
    await clock.advance(2500);
    expect(takeAll(bucket)).toBe(2);
  });

  it('never holds more than its capacity', async () => {
    const clock = new FakeClock();
    const bucket = new TokenBucket({ clock, capacity: 5, refillMs: 1000 });
    await clock.advance(3_600_000);
    expect(takeAll(bucket)).toBe(5);
  });

  it('counts the time since it was made, whatever the clock says', async () => {
    const clock = new FakeClock();
    await clock.advance(3_600_000);
    const bucket = new TokenBucket({ clock, capacity: 1, refillMs: 1000 });
    expect(takeAll(bucket)).toBe(1);
    await clock.advance(500);
    expect(takeAll(bucket)).toBe(0);
    await clock.advance(500);
    expect(takeAll(bucket)).toBe(1);
  });
});
