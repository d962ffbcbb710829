import { REPORT_AUDIENCE } from '@rollcall/common/well-known.ts';
import type { Claims } from './claim.ts';
import { agentDefault, constant, coordinatorDefault, grouped, numberIn, seconds, word } from './source.ts';

const PACING = 'coordinator/src/state/report-pacing.ts';
const SKIPPED = 'coordinator/src/write/skipped-keys.ts';
const REFLECTOR = 'coordinator/src/kube/reflector.ts';
const stale = coordinatorDefault('staleAfterSeconds');

/** Records of decisions, by their page. */
export const RECORDS: Claims = {
  'packages/docs/design/0001-agents-have-no-rights.md': [
    `It has a projected service account token with the audience \`${REPORT_AUDIENCE}\``,
  ],
  'packages/docs/design/0007-silence-is-unknown.md': [
    `A node whose agent is silent for ${stale} s loses its readiness labels`,
    `When at least ${coordinatorDefault('fleetGuardPercent')} % of a pool or of the fleet is silent`,
    `which gives its node ${seconds('coordinator/src/state/presence.ts', 'LEAVING_GRACE_MS')} s`,
  ],
  'packages/docs/design/0008-coordinator-sets-the-pace.md': [
    `It is ${numberIn(PACING, /HEARTBEAT_SECONDS_MIN = ([0-9]+);/)} s up to`,
    `there are ${constant(PACING, 'HEARTBEATS_PER_SECOND')} reports a second`,
    `never more than ${numberIn(PACING, /windowSeconds \* ([0-9.]+),/)} of the time after which a node counts as silent`,
    `no more than ${grouped(constant(PACING, 'REPORTS_PER_SECOND_MAX'))} reports a second`,
  ],
  'packages/docs/design/0009-warm-replicas.md': [
    `has not been renewed for ${seconds('coordinator/src/term/lease.ts', 'SILENCE_MS')} s it answers`,
  ],
  'packages/docs/design/0016-own-api-client.md': [
    `An idle connection is closed after ${seconds('coordinator/src/kube/connection.ts', 'IDLE_SOCKET_MS')} s`,
  ],
  'packages/docs/design/0032-watches-empty-nothing-by-mistake.md': [
    `time-outs (${seconds(REFLECTOR, 'WATCH_SECONDS_MIN') * (1000 / 60)}–${seconds(REFLECTOR, 'WATCH_SECONDS_MAX') * (1000 / 60)} min`,
  ],
  'packages/docs/design/0018-damping.md': [dampingClaim()],
  'packages/docs/design/0020-watch-metadata-where-it-suffices.md': [
    `again, after ${seconds('coordinator/src/decide/stray-taints.ts', 'LOOK_AGAIN_MS')} s at first`,
  ],
  'packages/docs/design/0027-accelerator-identity.md': [
    `stays in the report for ${word(Number(agentDefault('deviceRemovalGraceSeconds')))} seconds`,
  ],
  'packages/docs/design/0045-contested-keys.md': [
    `After the ${['first', 'second', 'third', 'fourth', 'fifth'][constant(SKIPPED, 'CHANGES_BACK_MAX')]} time in a minute`,
    `still tried at least every ${seconds(SKIPPED, 'KEEPS_AWAY_MAX_MS') + 2} s`,
  ],
  'packages/docs/design/0055-verdicts-belong-to-checks.md': [
    `an agent that was assigned a check ${seconds('coordinator/src/decide/readiness/judges.ts', 'TOLD_MS')} s ago`,
  ],
};

function dampingClaim(): string {
  const file = 'coordinator/src/model/inventory/damping.ts';
  const first = seconds(file, 'HOLD_FIRST_MS');
  const free = word(constant(file, 'FALLS_FREE'));
  const window = word(seconds(file, 'DAMPING_WINDOW_MS') / 60);
  const most = seconds(file, 'HOLD_MAX_MS') / 60;
  return `more than ${free} times in ${window} minutes is held back for ${first} s, then ${2 * first} s, ${4 * first} s, at most ${most} minutes`;
}
