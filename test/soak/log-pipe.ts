import { execFile } from 'node:child_process';
import { closeSync, constants, createWriteStream, openSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const ROUNDS = 4;
const ROUND_MS = 20;

/** A named pipe that a program logs into, like the pipe of a container runtime. What is read goes to a file. */
export class LogPipe {
  readonly path: string;
  readonly #reader: Socket;

  private constructor(path: string, reader: Socket) {
    this.path = path;
    this.#reader = reader;
  }

  static async open(path: string): Promise<LogPipe> {
    await promisify(execFile)('mkfifo', [path]);
    // Open for both, so that it has no end when the program has one.
    const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    const reader = new Socket({ fd, readable: true, writable: false });
    reader.pipe(createWriteStream(`${path}.log`), { end: true });
    return new LogPipe(path, reader);
  }

  /** Stops reading, and fills the pipe. */
  async fill(): Promise<void> {
    this.#reader.pause();
    const fd = openSync(this.path, constants.O_WRONLY | constants.O_NONBLOCK);
    try {
      // What is read already, and not yet given up on by the reader, makes room once more.
      for (let round = 0; round < ROUNDS; round += 1) {
        fillUp(fd);
        await sleep(ROUND_MS);
      }
    } finally {
      closeSync(fd);
    }
  }

  drain(): void {
    this.#reader.resume();
  }

  close(): void {
    this.#reader.destroy();
  }
}

function fillUp(fd: number): void {
  for (let bytes = 4096; bytes > 0; ) {
    try {
      writeSync(fd, Buffer.alloc(bytes, '\n'));
    } catch {
      bytes = Math.floor(bytes / 2);
    }
  }
}
