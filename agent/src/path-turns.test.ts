import { describe, expect, it } from 'vitest';
import { deviceOf, PathTurns, parseMountinfo } from './path-turns.ts';
import { within } from './probes/testing/limits.ts';

const MOUNTINFO = `22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:20 / /proc rw - proc proc rw
24 22 0:40 /x /run/plug\\040ins rw shared:1 - nfs server:/x rw
25 22 0:41 / /run/stacked rw - tmpfs tmpfs rw
26 25 0:42 / /run/stacked rw - tmpfs tmpfs rw

odd line
`;

describe('deviceOf', () => {
  it.each([
    ['/var/lib/x', '254:0'],
    ['/proc/self', '0:20'],
    ['/process', '254:0'],
    ['/run/plug ins', '0:40'],
    ['/run/plug ins/a/b', '0:40'],
    ['/run/plug insolent', '254:0'],
    ['/run/stacked/a', '0:42'],
  ])('tells by name what is mounted where %s is', (path, device) => {
    expect(deviceOf(path, parseMountinfo(MOUNTINFO))).toBe(device);
  });

  it('takes everything for one device where nothing is known of mounts', () => {
    const none = parseMountinfo('');
    expect(deviceOf('/a', none)).toBe(deviceOf('/b', none));
  });
});

/** Whether a promise is settled by now. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const still = Symbol('still');
  return (await Promise.race([promise.catch(() => {}), Promise.resolve(still)])) !== still;
}

describe('a turn to look at a path', () => {
  it('comes at once while no other path is looked at', async () => {
    expect(await new PathTurns().begin('/a', within(5000))).toBeUndefined();
  });

  it('comes when the look before it on the same mount has ended, in order', async () => {
    const turns = new PathTurns();
    await turns.begin('/a', within(5000));
    const second = turns.begin('/b', within(5000));
    const third = turns.begin('/c', within(5000));
    expect(await isSettled(second)).toBe(false);
    turns.end('/a');
    expect(await second).toBeUndefined();
    expect(await isSettled(third)).toBe(false);
    turns.end('/b');
    expect(await third).toBeUndefined();
  });

  it('names the path that hangs to those who waited for it in vain, and comes for the others after that', async () => {
    const turns = new PathTurns();
    await turns.begin('/a', within(5000));
    expect(await turns.begin('/b', within(1))).toEqual({ hanging: ['/a'] });
    const later = turns.begin('/c', within(5000));
    turns.end('/a');
    expect(await later).toBeUndefined();
  });

  it('is given on each mount of its own, to three mounts at most', async () => {
    const turns = new PathTurns();
    for (const path of ['/a', '/proc/b', '/sys/c']) expect(await turns.begin(path, within(5000))).toBeUndefined();
    expect(await turns.begin('/dev/d', within(1))).toEqual({ hanging: ['/a', '/proc/b', '/sys/c'] });
    turns.end('/sys/c');
    expect(await turns.begin('/dev/d', within(5000))).toBeUndefined();
  });

  it('is over with the reason of the signal for the path itself that hangs, and at once when time is over', async () => {
    const turns = new PathTurns();
    await turns.begin('/a', within(5000));
    await expect(turns.begin('/a', within(1))).rejects.toThrow('No answer within 1 ms');
    await expect(turns.begin('/b', AbortSignal.abort(new Error('over')))).rejects.toThrow('over');
  });
});

describe('many paths that wait', () => {
  const MOUNTS = Array.from(
    { length: 2000 },
    (_, index) => `${index} 1 0:${index} / /m/${index} rw - tmpfs tmpfs rw`,
  ).join('\n');

  /** CPU time for this many looks at paths of one mount, on a machine with 2,000 mounts; how often these were read. */
  async function lookAt(count: number) {
    let reads = 0;
    const turns = new PathTurns(() => {
      reads += 1;
      return MOUNTS;
    });
    const { user } = process.cpuUsage();
    const { signal } = new AbortController();
    const paths = Array.from({ length: count }, (_, index) => `/m/7/a/b/c/${index}`);
    await Promise.all(paths.map((path) => turns.begin(path, signal).then(() => turns.end(path))));
    return { reads, spentMs: (process.cpuUsage().user - user) / 1000 };
  }

  it('cost what they are, and the mounts of the machine are read once for all', async () => {
    await lookAt(500);
    const { user } = process.cpuUsage();
    for (let time = 0; time < 20; time += 1) parseMountinfo(MOUNTS);
    const parseMs = (process.cpuUsage().user - user) / 1000 / 20;
    const { reads, spentMs } = await lookAt(4000);
    expect(reads).toBe(1);
    // Much less than if each looked at all mounts.
    expect(spentMs).toBeLessThan((4000 * parseMs) / 4);
  });
});
