import type { Claims } from './claim.ts';
import { constant, coordinatorDefault, grouped, numberIn, seconds, word } from './source.ts';

const PLACES = 'coordinator/src/tls/connection-limiter.ts';
const HANDLER = 'coordinator/src/ingest/report-handler.ts';
const KEYS = 'coordinator/src/ingest/signing-keys.ts';
const AUTH = 'coordinator/src/ingest/bearer-auth.ts';
const SCHEDULE = 'agent/src/report/reporter.ts';
const EVENTS = 'coordinator/src/subscribers/events';
const OBSERVER = 'coordinator/src/decide/guards/observer.ts';
/** A number of a subject in the table of the guard. */
const ruleNumber = (subject: string, name: string) =>
  numberIn('coordinator/src/state/guard.ts', new RegExp(`'?${subject}'?: \\{[^}]*\\b${name}: ([0-9]+)`));
const LIMITER = 'coordinator/src/write/write-gate.ts';
const EXTENDER = 'packages/scheduler-extender/src/extender';
const OUTBOX = 'coordinator/src/subscribers/notify/outbox.ts';
const POSTER = 'coordinator/src/subscribers/notify/poster.ts';
const ASIDE = 'coordinator/src/write/skipped-keys.ts';
const AUTHORITY = 'coordinator/src/tls/certificate-authority.ts';

const leafDays = numberIn(AUTHORITY, /LEAF_LIFE_MS = ([0-9]+) \* DAY_MS/);
const refusedSeconds = seconds(ASIDE, 'REFUSED_FIRST_MS');
const accepted = seconds(AUTH, 'ACCEPTED_MS') / 60;
const REPORTER = 'agent/src/report/reporter.ts';
const leavingSeconds = seconds(REPORTER, 'LEAVING_TIMEOUT_MS') * constant(REPORTER, 'LEAVING_ATTEMPTS_MAX');
const lease = (name: string) => numberIn('coordinator/src/term/election.ts', new RegExp(`${name}: ([0-9_]+)`)) / 1000;

/** Documents for a reader who works on a room or looks up a limit. */
export const ROOMS: Claims = {
  'agent/README.md': [
    `no progress for ${seconds('agent/src/agent.ts', 'REPORTER_STALLED_MS') === 30 ? 'half a minute' : 'another time'}`,
    `exits with 0 within ${Math.ceil(leavingSeconds)} s`,
    `retries after ${seconds(SCHEDULE, 'RETRY_SPACING_MS')} s up to ${seconds(SCHEDULE, 'RETRY_MAX_MS')} s`,
  ],
  'packages/docs/reference/probes.md': [
    `comes more than ${seconds('agent/src/probes/service-monitor.ts', 'STOOD_STILL_MS')} s late`,
  ],
  'coordinator/README.md': [
    `says every ${word(seconds('coordinator/src/app/prune.ts', 'PROGRESS_EVERY_MS'))} seconds how many nodes are left`,
  ],
  'packages/docs/reference/reports.md': [
    `at most ${constant('packages/common/src/well-known.ts', 'REPORT_BODY_BYTES_MAX') / 1024} KiB`,
    `${numberIn(HANDLER, /burst: ([0-9]+) \* 1024/)} KiB at once, ${numberIn(HANDLER, /intervalMs: 1000 \/ \(([0-9]+) \* 1024\)/)} KiB a second`,
    `the first request has to come within ${seconds(PLACES, 'firstRequestMs')} s, the next within ${seconds(PLACES, 'idleMs')} s`,
    `strangers that are older than ${seconds(PLACES, 'settledMs')} s make room`,
    `up to ${grouped(constant(PLACES, 'waitingMax'))} for ${seconds(PLACES, 'WAITED_MS')} s`,
    `No more than ${constant(PLACES, 'beginsPerSecond')} handshakes begin in a second`,
    `every ${seconds(KEYS, 'REFRESH_MS') / 60} minutes, at most once in ${seconds(KEYS, 'PAUSE_MS')} s`,
    `with ${constant(AUTH, 'LEEWAY_SECONDS') / 60} minutes of leeway`,
    `holds for ${accepted * (1 - constant(AUTH, 'JITTER'))} to ${accepted} minutes`,
    `A bad one holds for ${seconds(AUTH, 'REFUSED_MS')} s`,
    `no byte for ${seconds('coordinator/src/app/listeners.ts', 'WATCH_STALE_MS')} s and the API server answered no request for ${seconds('coordinator/src/app/listeners.ts', 'API_STALE_MS')} s`,
    `let in within ${constant('coordinator/src/ingest/bearer-auth.ts', 'FLEET_SECONDS')} s`,
  ],
  'coordinator/src/subscribers/events/README.md': [
    `within the last ${seconds(`${EVENTS}/event-recorder.ts`, 'SAME_FOR_MS') / 60} minutes`,
    `${constant(`${EVENTS}/event-recorder.ts`, 'BURST')} at once, one more every ${seconds(`${EVENTS}/event-recorder.ts`, 'REFILL_MS') / 60} minutes`,
    `or ${grouped(constant(`${EVENTS}/event-recorder.ts`, 'QUEUE_MAX'))} Events were waiting`,
    `or ${constant(`${EVENTS}/event-sender.ts`, 'ATTEMPTS_MAX')} attempts were in vain`,
    `${grouped(constant(`${EVENTS}/event-recorder.ts`, 'EVENTS_MAX'))} Events and ${grouped(constant(`${EVENTS}/event-recorder.ts`, 'SUBJECTS_MAX'))} objects`,
  ],
  'packages/docs/reference/notifications.md': [
    `doubling up to ${numberIn(OUTBOX, /RETRY = \{ baseMs: 500, maxMs: ([0-9_]+)/) / 1000} s`,
    `${constant(OUTBOX, 'SEATS')} are on their way at most, and ${(1000 / constant(OUTBOX, 'SEAT_MS')) * constant(OUTBOX, 'SEATS')} are sent in a second`,
    `A request has ${seconds(POSTER, 'TIMEOUT_MS')} s`,
  ],
  'packages/docs/how-to/evict.md': [
    `\`--eviction-delay-seconds\` (${coordinatorDefault('evictionDelaySeconds')})`,
    `of more than ${constant('coordinator/src/decide/labelers/withdrawn-labels.ts', 'ENTRIES_MAX')} the latest count`,
  ],
  'coordinator/src/decide/guards/README.md': [
    `changed there in the last ${seconds(OBSERVER, 'CHANGED_FOR_MS') / 60} minutes`,
    `Once ${ruleNumber('agent-version', 'few') + 1} nodes, and at least ${ruleNumber('agent-version', 'sharePercent')} %`,
    `leaves ${ruleNumber('configuration', 'few')} nodes at once`,
    `It takes effect on ${ruleNumber('configuration', 'few')} nodes at once`,
  ],
  'coordinator/src/write/README.md': [
    `At most ${constant(LIMITER, 'WRITES_MAX')} requests`,
    `${refusedSeconds} s have passed, twice as long each time, ${seconds(ASIDE, 'SKIPPED_MAX_MS') / 60} minutes at most`,
    `waits ${seconds(ASIDE, 'KEEPS_AWAY_MAX_MS')} s at most`,
    `${seconds(ASIDE, 'UNSEEN_FOR_MS')} s if it never becomes visible`,
    `${grouped(constant(ASIDE, 'KEYS_MAX'))} at most`,
    `${grouped(constant(ASIDE, 'SKIPPED_PER_NODE_MAX'))} for each Node`,
    `at most ${constant('coordinator/src/write/refused-keys.ts', 'PROBES_MAX')} at a time`,
  ],
  'coordinator/src/term/README.md': [
    `a Lease of ${lease('leaseDurationMs')} s, renewed every ${lease('retryPeriodMs')} s`,
    `what is left of ${lease('renewDeadlineMs')} s since`,
  ],
  'coordinator/src/tls/README.md': [
    `${leafDays} days, renewed after ${Math.round(leafDays * constant('coordinator/src/tls/rotation.ts', 'RENEW_AT'))}`,
    `looks every ${seconds('coordinator/src/tls/file-certificates.ts', 'POLL_MS')} s`,
    `the propagation time (${seconds('coordinator/src/tls/reports-tls.ts', 'PROPAGATION_MS') / 60} minutes)`,
  ],
  'packages/docs/reference/extender.md': [
    `no answer after ${seconds(`${EXTENDER}/extender-server.ts`, 'TOTAL_MS')} s`,
    `does not answer within ${seconds(`${EXTENDER}/responder.ts`, 'TIMEOUT_MS')} s`,
    `more than ${constant(`${EXTENDER}/responder.ts`, 'BODY_BYTES_MAX') / 1024 ** 2} MiB; more than ${(constant(`${EXTENDER}/responder.ts`, 'BODY_BYTES_MAX') * constant(`${EXTENDER}/responder.ts`, 'BODIES_MAX')) / 1024 ** 2} MiB`,
  ],
  'coordinator/src/answer/console/README.md': [
    `the last ${grouped(constant('coordinator/src/answer/console/event-stream.ts', 'EVENTS_MAX'))} events are kept`,
  ],
  'packages/docs/how-to/runbooks/RollcallGuardActive.md': [
    `fewer than ${ruleNumber('agents', 'clearPercent')} % are silent`,
  ],
};
