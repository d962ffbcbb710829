const TITLES = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  411: 'Length Required',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
} as const;

/** Every status with which a listener refuses a request. */
export type ProblemStatus = keyof typeof TITLES;

export const PROBLEM_TYPE = 'application/problem+json';

export function problemTitle(status: ProblemStatus): string {
  return TITLES[status];
}

/** The body of a refusal: problem details (RFC 9457), with more members beside them. */
export function problemJson(
  status: ProblemStatus,
  detail: string,
  more: Readonly<Record<string, unknown>> = {},
): string {
  return JSON.stringify({ type: 'about:blank', title: TITLES[status], status, detail, ...more });
}
