/** Every error code with what it means. A code is never reused for something else; the READMEs list the same. */
export const ERROR_CODES = {
  CONFIG_INVALID:
    'The configuration is wrong; the message names the field and what it takes. The program exits with 2.',
  LISTEN_FAILED: 'A listener could not be opened, mostly because the port is taken.',
  STOP_TIMED_OUT: 'Something did not stop in time and was abandoned, so that the program ends within 5 s.',
  KUBE_REQUEST_FAILED: 'The API server answered with an error status; status, reason and causes are in the fields.',
  KUBE_UNREACHABLE: 'The API server could not be reached, or its answer was cut off or late.',
  KUBE_WATCH_EXPIRED:
    'The API server no longer has the history from which a watch wanted to go on (410); a new list follows.',
  KUBE_LIST_NOT_TAKEN: 'A list was read whole, but not taken in: an error inside this program; it is read again.',
  KUBE_WATCH_BROKEN: 'A watch delivered something that is not an event; it is started anew.',
  LEADERSHIP_LOST:
    'This replica may no longer write: its Lease could not be renewed in time, or another replica holds it.',
  WRITE_REFUSED: 'The API server refused a write to a Node for good; the offending keys are set aside and reported.',
  CERTIFICATE_INVALID: 'A certificate or key could not be read, or the two do not belong together.',
  REPORT_UNAUTHENTICATED: 'A report came without a token that the API server accepts for this audience (401).',
  REPORT_FORBIDDEN: 'A report came with a valid token of another account, or for another node (403).',
  REPORT_INVALID:
    'A report could not be understood; the answer names the field (400, 413, 415 or 422), or what else was wrong with the request (404, 405, 408, 431).',
  REPORT_THROTTLED: 'A client sent more than the coordinator takes from one node (429).',
  REPORT_UNAVAILABLE:
    'This replica cannot take reports now: no leader is known, or its caches are not synced (503); or it failed (500).',
  COORDINATOR_UNREACHABLE: 'The agent could not deliver a report to any coordinator; it goes on probing and retries.',
  COORDINATOR_REFUSED: 'The coordinator refused a report; its problem details are in the fields.',
  TOKEN_UNREADABLE: 'The agent could not read its service account token.',
  FACTS_UNREADABLE:
    'The agent could not read the facts about its machine; it keeps those that it had, and tries again.',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;
