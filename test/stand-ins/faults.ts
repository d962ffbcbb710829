/** What a stand-in can be told to do wrong. */
export type Fault =
  /** Answers as it should. */
  | { readonly kind: 'none' }
  /** Does not listen any more and hangs up on every client: a process that ended. */
  | { readonly kind: 'refuse' }
  /** Accepts, never reads nor says anything: a process that hangs. Ends with the fault; then it answers after all. */
  | { readonly kind: 'hang' }
  /** Answers this much later, in milliseconds; where HTTP is spoken each request, elsewhere each connection. */
  | { readonly kind: 'slow'; readonly delayMs: number }
  /** Answers every request with this HTTP status. Only where HTTP is spoken. */
  | { readonly kind: 'status'; readonly status: number }
  /** Resets each connection as soon as it is accepted, and those that are open. */
  | { readonly kind: 'reset' }
  /** Ends its own side of each connection at once, and goes on reading. */
  | { readonly kind: 'half-open' }
  /** Hangs up on connections on which nothing happened for 200 ms, as servers with a short keep-alive do. */
  | { readonly kind: 'close-idle' };

/** Reads the words after `fault`, such as `slow 1500`. @throws naming what is wrong. */
export function parseFault(text: string): Fault {
  const [kind, argument, ...rest] = text.trim().split(/\s+/);
  if (rest.length > 0) throw new Error(`too many words in fault "${text}"`);
  if (kind === 'slow') return { kind, delayMs: parseNumber(text, argument, 0, 600_000) };
  if (kind === 'status') return { kind, status: parseNumber(text, argument, 200, 599) };
  if (argument !== undefined) throw new Error(`fault "${kind}" takes no argument`);
  switch (kind) {
    case 'none':
    case 'refuse':
    case 'hang':
    case 'reset':
    case 'half-open':
    case 'close-idle':
      return { kind };
    default:
      throw new Error(`unknown fault "${text}"`);
  }
}

function parseNumber(text: string, argument: string | undefined, min: number, max: number): number {
  const value = Number(argument);
  if (argument === undefined || !Number.isInteger(value) || value < min || value > max) {
    throw new Error(`fault "${text}" needs a whole number from ${min} to ${max}`);
  }
  return value;
}
