import { type Logger, pino } from 'pino';
import { writeFully } from './write-fully.ts';

export type { Logger } from 'pino';

export type LoggingOptions = {
  /** JSON lines, or lines for people. */
  json: boolean;
  verbose: boolean;
  /** Which program this is, in every line. */
  component: string;
  /** File descriptor; standard output unless told. */
  fd?: number;
};

/**
 * A logger that writes synchronously: a process that is killed has said what it saw. A full disk or a closed pipe must
 * not end the program, so failing writes are dropped.
 */
export function createLogger(options: LoggingOptions): Logger {
  const write = lineWriter(options.fd ?? 1);
  return pino(
    {
      level: options.verbose ? 'debug' : 'info',
      base: { component: options.component },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      errorKey: 'err',
    },
    { write: options.json ? write : (line: string) => write(humanLine(line)) },
  );
}

/** pino's own destination keeps every line that it could not write, without bound; this one lets go of them. */
function lineWriter(fd: number): (line: string) => void {
  let torn = false;
  return (line) => {
    // After a line of which only a part may have got out, the next one starts on a line of its own.
    torn = !writeFully(fd, torn ? `\n${line}` : line);
  };
}

/** A logger that says nothing, for tests. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}

/** `12:00:00.000 INFO  Message key=value` out of one JSON line. */
export function humanLine(json: string): string {
  const { time, level, msg, component: _component, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const rest = Object.entries(fields).map(([key, value]) => ` ${key}=${humanValue(value)}`);
  return `${String(time).slice(11, 23)} ${String(level).toUpperCase().padEnd(5)} ${String(msg)}${rest.join('')}\n`;
}

function humanValue(value: unknown): string {
  if (typeof value === 'string') return /[\s"=]/.test(value) ? JSON.stringify(value) : value;
  if (value !== null && typeof value === 'object' && 'message' in value) return JSON.stringify(value.message);
  return JSON.stringify(value);
}
