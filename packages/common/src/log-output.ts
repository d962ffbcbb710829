import { constants, fstatSync, openSync, writeSync } from 'node:fs';

/** In a row, in milliseconds: long enough for a reader that is merely behind a burst, too short to be missed by others. */
const WAIT_MS_MAX = 100;

let dropped = 0;

/** Log lines of this process that could not be written, since it was started. */
export function droppedLogLines(): number {
  return dropped;
}

/**
 * Gives the function that writes lines to `fd`, each before it returns, and says whether the line got out. A full pipe
 * is waited for a moment; once that was in vain, each further line is dropped, and counted, until one gets out at once.
 * pino's own destination would either wait for the reader or keep every line without bound.
 */
export function openLogOutput(fd: number): (line: string) => boolean {
  const own = withoutWaiting(fd);
  const never = new Int32Array(new SharedArrayBuffer(4));
  let waitedMs = 0;
  let torn = false;

  function tryToWrite(text: string): boolean {
    let rest = Buffer.from(text);
    let waits = 0;
    for (;;) {
      try {
        rest = rest.subarray(writeSync(own, rest));
        if (rest.length > 0) continue;
        if (waits === 0) waitedMs = 0;
        return true;
      } catch (err) {
        const isFull = err instanceof Error && 'code' in err && err.code === 'EAGAIN';
        if (!isFull || waitedMs >= WAIT_MS_MAX) return false;
        Atomics.wait(never, 0, 0, 1);
        waitedMs += 1;
        waits += 1;
      }
    }
  }

  return (line) => {
    // After a line of which only a part may have got out, the next one starts on a line of its own.
    const written = tryToWrite(torn ? `\n${line}` : line);
    torn = !written;
    if (!written) dropped += 1;
    return written;
  };
}

/**
 * The descriptor to write to so that a reader that stalls does not stall this process. A pipe is opened anew, as
 * O_NONBLOCK belongs to what was opened, which others may share. Sockets, and the pipes of another user, cannot be
 * opened anew: for those, Node.js sets the flag as soon as it is asked for its standard output.
 */
function withoutWaiting(fd: number): number {
  const stats = fstatSync(fd);
  if (!stats.isFIFO() && !stats.isSocket()) return fd;
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    if (fd === 1) void process.stdout;
    return fd;
  }
}
