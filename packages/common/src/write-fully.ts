import { writeSync } from 'node:fs';

/**
 * Writes `text` to a file descriptor before it returns. Returns false when it could not be written to its end: the disk
 * is full, the pipe is closed, or its reader does not keep up.
 */
export function writeFully(fd: number, text: string): boolean {
  try {
    let rest = Buffer.from(text);
    while (rest.length > 0) rest = rest.subarray(writeSync(fd, rest));
    return true;
  } catch {
    // The callers log or print, so they cannot report this error anywhere.
    return false;
  }
}
