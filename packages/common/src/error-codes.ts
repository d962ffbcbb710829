/** Every error code with what it means. A code is never reused for something else; the READMEs list the same. */
export const ERROR_CODES = {
  CONFIG_INVALID:
    'The configuration is invalid; the message names the field and the values that it accepts. The program exits with 2.',
  LISTEN_FAILED: 'The program could not listen on an address, usually because the port is in use.',
  STOP_TIMED_OUT: 'A part of the program did not stop in time; the program ends without it, within 5 s.',
  KUBE_REQUEST_FAILED:
    'The API server returned an error; the fields of the log line contain status, reason and causes.',
  KUBE_UNREACHABLE: 'The API server could not be reached, or its answer was incomplete or late.',
  KUBE_WATCH_EXPIRED:
    'The API server no longer has the history that a watch needs to continue (410); the program lists the objects again.',
  KUBE_LIST_NOT_TAKEN:
    'A list was read, but an error inside the program prevented its use; the program lists the objects again.',
  KUBE_WATCH_BROKEN: 'A watch returned something that is not an event; the program starts it again.',
  LEADERSHIP_LOST:
    'This replica may no longer write: its Lease could not be renewed in time, or another replica holds it.',
  WRITE_REFUSED: 'The API server refused a write to a Node; the refused keys are skipped and reported.',
  CERTIFICATE_INVALID: 'A certificate or a key could not be read, or they do not belong together.',
  REPORT_UNAUTHENTICATED: 'A report had no token that the API server accepts for this audience (401).',
  REPORT_FORBIDDEN: 'The token of a report belongs to another account or another node (403).',
  REPORT_INVALID:
    'A report is invalid; the answer names the field (400, 413, 415 or 422) or the error in the request (404, 405, 408, 411, 431).',
  REPORT_THROTTLED: 'A client sent more than the coordinator accepts from one node (429).',
  REPORT_UNAVAILABLE:
    'This replica cannot accept reports now: no leader is known or its caches are not synced (503), or it failed (500).',
  COORDINATOR_UNREACHABLE: 'The agent could not send a report to any coordinator; it keeps probing and retries.',
  COORDINATOR_REFUSED: 'The coordinator refused a report; the fields of the log line contain the details.',
  TOKEN_UNREADABLE: 'The agent could not read its service account token.',
  FACTS_UNREADABLE: 'The agent could not read the facts about its machine; it keeps the previous ones and tries again.',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;
