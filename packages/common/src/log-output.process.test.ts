import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

const LIMIT = { timeout: 10_000, interval: 20 };
/** Some times what a pipe holds. */
const LINES = 5000;
const ARGV = ['--input-type=module-typescript', '--eval'];

/**
 * Logs far more than a pipe holds, tells on standard error that it went on, and logs once more when it is told that
 * there is a reader again.
 */
const PROGRAM = `
  import { readFileSync } from 'node:fs';
  import { createLogger } from ${JSON.stringify(path.join(import.meta.dirname, 'logging.ts'))};
  import { createRegistry } from ${JSON.stringify(path.join(import.meta.dirname, 'metrics.ts'))};
  const logger = createLogger({ json: true, verbose: false, component: 'test' });
  for (let i = 0; i < ${LINES}; i += 1) logger.info({ padding: 'x'.repeat(100) }, 'Flood');
  process.on('SIGUSR2', async () => {
    logger.info('Back');
    const text = await createRegistry('rollcall_agent').metrics();
    process.stderr.write(/^rollcall_agent_log_lines_dropped_total \\d+$/m.exec(text)?.[0] + '\\n');
  });
  // Not before: the signal would end the program.
  process.stderr.write('alive\\n');
  setInterval(() => {}, 1000);
`;

let directory: string;
let child: ChildProcess | undefined;

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'rollcall-log-'));
});

afterEach(() => {
  child?.kill('SIGKILL');
  rmSync(directory, { recursive: true });
});

function start(stdout: 'pipe' | number): { stderr: () => string } {
  child = spawn(process.execPath, [...ARGV, PROGRAM], { stdio: ['ignore', stdout, 'pipe'], env: {} });
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return { stderr: () => text };
}

/** The messages of the log, and what the line about dropped ones says. Lines that were torn are not among them. */
function messagesOf(log: string) {
  const lines = log.split('\n').flatMap((line) => {
    try {
      return [JSON.parse(line) as { msg: string; lines?: number }];
    } catch {
      return [];
    }
  });
  const floods = lines.filter(({ msg }) => msg === 'Flood').length;
  return { floods, others: lines.filter(({ msg }) => msg !== 'Flood') };
}

describe('a program whose log is not read', { timeout: 30_000 }, () => {
  test('goes on when it is a pipe, and tells how many lines were dropped', async () => {
    const fifo = path.join(directory, 'log');
    execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', fifo]);
    const blocking = openSync(fifo, constants.O_RDWR);
    const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const { stderr } = start(blocking);
      await vi.waitFor(() => expect(stderr()).toContain('alive'), LIMIT);
      let log = drained(reader);
      child?.kill('SIGUSR2');
      await vi.waitFor(() => {
        log += drained(reader);
        expect(messagesOf(log).others).toHaveLength(2);
      }, LIMIT);
      const { floods, others } = messagesOf(log);
      expect(floods).toBeGreaterThan(100);
      expect(others).toMatchObject([
        { msg: 'Back' },
        { msg: 'Dropped log lines that could not be written', level: 'warn', lines: LINES - floods },
      ]);
      await vi.waitFor(() => expect(stderr()).toContain(`lines_dropped_total ${LINES - floods}\n`), LIMIT);
    } finally {
      closeSync(reader);
      closeSync(blocking);
    }
  });

  test('loses nothing of a burst to a reader that is only a little behind', async () => {
    const program = PROGRAM.replace('setInterval(() => {}, 1000);', '');
    const pipe = `${JSON.stringify(process.execPath)} ${ARGV.join(' ')} "$PROGRAM" | tail -n +1`;
    const log = execFileSync('sh', ['-c', pipe], {
      env: { ...process.env, PROGRAM: program },
      maxBuffer: 2 ** 24,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    expect(messagesOf(log.toString())).toEqual({ floods: LINES, others: [] });
  });

  test('goes on when it is a socket, which cannot be opened anew', async () => {
    const { stderr } = start('pipe');
    child?.stdout?.pause();
    await vi.waitFor(() => expect(stderr()).toContain('alive'), LIMIT);
  });
});

function drained(fd: number): string {
  const chunks: Buffer[] = [];
  for (;;) {
    const buffer = Buffer.alloc(65_536);
    try {
      const length = readSync(fd, buffer);
      if (length === 0) break;
      chunks.push(buffer.subarray(0, length));
    } catch {
      break;
    }
  }
  return Buffer.concat(chunks).toString();
}
