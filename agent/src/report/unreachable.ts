import { CodedError } from '@rollcall/common/coded-error.ts';

/** What the codes of OpenSSL for the time of validity mean. */
const BY_TIME: Readonly<Record<string, string>> = {
  CERT_NOT_YET_VALID: 'is not valid yet',
  CERT_HAS_EXPIRED: 'has expired',
};

/** The error of a coordinator that was not reached; it names the clocks where they are the likely cause. */
export function coordinatorUnreachable(origin: string, cause: unknown, nowMs: number): CodedError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const byTime = BY_TIME[code];
  const message =
    byTime === undefined
      ? `Cannot reach the coordinator at ${origin}`
      : `The certificate of the coordinator at ${origin} ${byTime} by the clock of this node, ${new Date(nowMs).toISOString()}; the clock of this node or of the coordinator is probably wrong`;
  return new CodedError('COORDINATOR_UNREACHABLE', message, { cause, fields: { coordinator: origin } });
}
