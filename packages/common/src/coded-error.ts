import type { ErrorCode } from './error-codes.ts';

/**
 * An error that callers and log readers tell apart by `code`, never by its message.
 * `fields` is what varies, ready to go into a log line.
 */
export class CodedError extends Error {
  readonly code: ErrorCode;
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; fields?: Record<string, unknown> } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'CodedError';
    this.code = code;
    this.fields = options.fields ?? {};
  }
}

export function hasCode(error: unknown, code: ErrorCode): error is CodedError {
  return error instanceof CodedError && error.code === code;
}

/** The message of whatever was thrown, with the messages of its causes. */
export function describeError(error: unknown): string {
  const parts: string[] = [];
  let current: unknown = error;
  // A cause may point back at its error; eight levels are more than any real chain has.
  for (let depth = 0; depth < 8 && current !== undefined; depth += 1) {
    if (!(current instanceof Error)) return [...parts, String(current)].join(': ');
    const text = current.message || ('code' in current ? String(current.code) : current.name);
    if (!parts.includes(text)) parts.push(text);
    current = current.cause;
  }
  return parts.join(': ');
}
