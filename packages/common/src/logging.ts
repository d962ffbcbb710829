import { type Logger, pino } from 'pino';
import { clean, cleanJson } from './clean.ts';
import { droppedLogLines, openLogOutput } from './log-output.ts';

export type { Logger } from 'pino';

type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export type LoggingOptions = {
  /** JSON lines, or lines for people. */
  json: boolean;
  verbose: boolean;
  /** Defaults to `info`, or to `debug` if `verbose`. */
  level?: LogLevel;
  /** Which program this is, in every line. */
  component: string;
  /** File descriptor; defaults to standard output. */
  fd?: number;
};

/**
 * A logger that writes synchronously: a process that is killed has said what it saw. Lines that cannot be written (a
 * reader that stalls, a full disk, a closed pipe) are dropped, and the log says how many once it can.
 */
export function createLogger(options: LoggingOptions): Logger {
  const output = openLogOutput(options.fd ?? 1);
  let told = droppedLogLines();
  const logger = pino(
    {
      level: options.verbose ? 'debug' : (options.level ?? 'info'),
      base: { component: options.component },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      errorKey: 'err',
    },
    { write },
  );

  function write(line: string): void {
    const lines = droppedLogLines() - told;
    if (!output(options.json ? cleanJson(line) : humanLine(line)) || lines === 0) return;
    told += lines;
    logger.warn({ lines }, 'Dropped log lines that could not be written');
    // Dropped as well: it is for the next one to say.
    if (droppedLogLines() > told) told -= lines;
  }

  return logger;
}

/** The level for a value of LOG_LEVEL as Gitpod's programs read it; `info` for every other value. */
export function logLevelOf(text = ''): LogLevel {
  const name = text.toLowerCase();
  if (['trace', 'debug'].includes(name)) return 'debug';
  if (['warn', 'warning'].includes(name)) return 'warn';
  return ['error', 'fatal', 'panic'].includes(name) ? 'error' : 'info';
}

/** A logger that says nothing, for tests. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' }, { write() {} });
}

/**
 * `12:00:00.000 INFO  Message key=value` out of one JSON line; of an error only its message, without the stack. Names and
 * evidence come from others: nothing in the line moves the cursor, breaks it, or turns its direction.
 */
export function humanLine(json: string): string {
  const { time, level, msg, component: _component, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const rest = Object.entries(fields).map(([key, value]) => ` ${key}=${humanValue(value)}`);
  const line = `${String(time).slice(11, 23)} ${String(level).toUpperCase().padEnd(5)} ${String(msg)}${rest.join('')}`;
  return `${clean(line)}\n`;
}

function humanValue(value: unknown): string {
  if (typeof value === 'string') return /[\s"=]/.test(value) || clean(value) !== value ? JSON.stringify(value) : value;
  if (value !== null && typeof value === 'object' && 'message' in value) return JSON.stringify(value.message);
  return JSON.stringify(value);
}
