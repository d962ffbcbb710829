import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Bytes of a rule file. */
export const RULE_FILE_BYTES_MAX = 64 * 1024;

/** The text of a file, what is wrong with it, or that it is not there. */
export type TextReading = { text: string } | { problem: string } | 'gone';

/** Reads a small regular file of UTF-8 text. It never throws, never waits for a pipe, and reads no more than it must. */
export async function readText(path: string): Promise<TextReading> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const bytes = Buffer.alloc(RULE_FILE_BYTES_MAX + 1);
      let length = 0;
      for (let read = -1; read !== 0 && length < bytes.length; length += read) {
        read = (await file.read(bytes, length, bytes.length - length)).bytesRead;
      }
      return decode(bytes.subarray(0, length));
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = errorCode(error);
    return code === 'ENOENT' ? 'gone' : { problem: `cannot be read (${code})` };
  }
}

function decode(bytes: Buffer): TextReading {
  if (bytes.length > RULE_FILE_BYTES_MAX) return { problem: `is larger than ${RULE_FILE_BYTES_MAX / 1024} KiB` };
  if (bytes.includes(0)) return { problem: 'is not a text file' };
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { problem: 'is not UTF-8 text' };
  }
}

/** The code of a failed system call, such as `EACCES`. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
