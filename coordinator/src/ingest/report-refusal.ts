import { CodedError } from '@rollcall/common/coded-error.ts';
import type { ErrorCode } from '@rollcall/common/error-codes.ts';
import { type ProblemStatus, problemJson, problemTitle } from '@rollcall/common/problem.ts';

/** Every status that a refused report can get. */
export type RefusalStatus = Exclude<ProblemStatus, 502>;

const CODES: Readonly<Partial<Record<RefusalStatus, ErrorCode>>> = {
  401: 'REPORT_UNAUTHENTICATED',
  403: 'REPORT_FORBIDDEN',
  429: 'REPORT_THROTTLED',
  500: 'REPORT_UNAVAILABLE',
  503: 'REPORT_UNAVAILABLE',
};

type RefusalOptions = {
  /** The path of the fault in the body, such as `services[0].ready`. */
  field?: string;
  /** When it makes sense to come back. */
  retryAfterSeconds?: number;
  headers?: Readonly<Record<string, string>>;
  cause?: unknown;
};

/** A report that is not taken. The message is the detail that the client is told: it must not hold secrets. */
export class ReportRefusal extends CodedError {
  readonly status: RefusalStatus;
  readonly field: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: RefusalStatus, detail: string, options: RefusalOptions = {}) {
    super(CODES[status] ?? 'REPORT_INVALID', detail, {
      cause: options.cause,
      fields: { status, field: options.field },
    });
    this.name = 'ReportRefusal';
    this.status = status;
    this.field = options.field;
    const { retryAfterSeconds } = options;
    this.headers = {
      ...options.headers,
      ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
    };
  }

  get title(): string {
    return problemTitle(this.status);
  }

  /** The body of the answer: problem details (RFC 9457), with our error code and the field beside them. */
  toProblemJson(): string {
    return problemJson(this.status, this.message, { code: this.code, field: this.field });
  }
}

/** 401, with the challenge that RFC 6750 asks for. `error` is absent when there was no token at all. */
export function unauthenticated(detail: string, error?: 'invalid_request' | 'invalid_token'): ReportRefusal {
  const challenge = error === undefined ? 'Bearer realm="rollcall"' : `Bearer realm="rollcall", error="${error}"`;
  return new ReportRefusal(401, detail, { headers: { 'www-authenticate': challenge } });
}

/** 503: nothing is wrong with the report, and the same may be taken a moment later. */
export function unavailable(detail: string, retryAfterSeconds = 1, cause?: unknown): ReportRefusal {
  return new ReportRefusal(503, detail, { retryAfterSeconds, cause });
}
