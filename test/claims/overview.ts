import { PROBES } from '@rollcall/agent/probes/kinds.ts';
import { VERSION } from '@rollcall/common/version.ts';
import { REPORT_AUDIENCE } from '@rollcall/common/well-known.ts';
import { VERSIONS } from '../versions/versions.ts';
import { FLAT_VALUES } from './chart-values.ts';
import type { Claims } from './claim.ts';
import { constant, coordinatorDefault, grouped, numberIn, seconds } from './source.ts';

const COMMON = 'packages/common/src/well-known.ts';
const PLACES = 'coordinator/src/tls/connection-limiter.ts';
const HANDLER = 'coordinator/src/ingest/report-handler.ts';
const AUTHORITY = 'coordinator/src/tls/certificate-authority.ts';

const stale = coordinatorDefault('staleAfterSeconds');
const grace = seconds('coordinator/src/state/presence.ts', 'LEAVING_GRACE_MS');
const oldest = VERSIONS[0];
const fewest = numberIn('coordinator/src/state/report-pacing.ts', /HEARTBEAT_SECONDS_MIN = ([0-9]+);/);
const share = numberIn('coordinator/src/state/report-pacing.ts', /windowSeconds \* ([0-9.]+),/);
const authorityDays = numberIn(AUTHORITY, /AUTHORITY_LIFE_MS = ([0-9]+) \* DAY_MS/);
const authorityMonths = Math.round(
  (authorityDays / 365) * 12 * constant('coordinator/src/tls/rotation.ts', 'RENEW_AT'),
);

const PATHS: Readonly<Record<string, string>> = { unix: 'a `unix` socket', file: 'a `file`' };
const kinds = PROBES.map(({ kind }) => PATHS[kind] ?? `\`${kind}\``).join(', ');

const value = (name: string) => String(FLAT_VALUES.get(name)).replace(/(\d)(Mi|Gi)$/, '$1 $2B');
const requests = (program: string, between = ', ', kind = 'requests') =>
  `${value(`${program}.resources.${kind}.cpu`)}${between}${value(`${program}.resources.${kind}.memory`)}`;
const resources = (program: string) => `${requests(program)}; at most ${requests(program, ', ', 'limits')}`;

/** Documents for a reader who does not know rollcall yet. */
export const OVERVIEW: Claims = {
  'README.md': [
    `Kubernetes ${oldest} or newer`,
    `its node loses its readiness labels after ${stale} s`,
    `the right answer: ${kinds}`,
  ],
  'packages/docs/explanation/how-it-works.md': [`report, every ${fewest} to ${Math.floor(share * Number(stale))} s`],
  'packages/docs/explanation/comparison.md': [`\`Unknown\` after ${stale} s, unless most are silent`],
  'packages/docs/explanation/guards.md': [
    `\`--fleet-guard-percent\` (${coordinatorDefault('fleetGuardPercent')} %)`,
    `\`--mass-withdrawal-delay-seconds\` (${coordinatorDefault('massWithdrawalDelaySeconds')} s)`,
  ],
  'SECURITY.md': [
    `fill ${grouped(constant(PLACES, 'unauthenticatedMax'))} places of the listener for reports`,
    `cost more than ${numberIn(HANDLER, /intervalMs: 1000 \/ \(([0-9]+) \* 1024\)/)} KiB of reports a second`,
    `it lives ${authorityDays === 365 ? 'a year' : `${authorityDays} days`}, and is replaced after ${authorityMonths} months`,
    `limited in size (${constant(COMMON, 'REPORT_BODY_BYTES_MAX') / 1024} KiB)`,
    `Audience \`${REPORT_AUDIENCE}\``,
  ],
  'packages/docs/how-to/install.md': [
    `"docker://$REGISTRY/rollcall:${VERSION}"`,
    `Kubernetes ${oldest} or newer, and Helm 3 or 4`,
    `It requests ${requests('agent', ' of CPU and ')}`,
    `It requests ${requests('coordinator', ' of CPU and ')}`,
  ],
  'packages/docs/how-to/upgrade.md': [`or waited for ${stale} s (${grace} s where the agent’s pod is gone`],
  'packages/docs/how-to/troubleshoot.md': [
    `pod/POD ${value('agent.port')}`,
    `tried again after ${seconds('coordinator/src/write/skipped-keys.ts', 'REFUSED_FIRST_MS')} s`,
  ],
  'packages/docs/reference/probes.md': PROBES.map(({ kind }) => `\n| \`${kind}\` | `),
  'packages/docs/reference/sizing.md': [
    `| ${resources('agent')} |`,
    `| ${resources('coordinator')} |`,
    `up to ${share} of \`staleAfterSeconds\``,
  ],
  'packages/docs/reference/support.md': [
    `anything older than ${oldest}`,
    `on the API servers of ${VERSIONS.slice(0, -1).join(', ')} and ${VERSIONS.at(-1)}`,
  ],
  'deploy/chart/README.md': [`rollcall for Kubernetes ${oldest} and later`, 'the user of the image, 65532'],
  'packages/docs/reference/chart.md': [
    `| ${value('agent.port')} | coordinator, agent (\`agent.port\`)`,
    `| ${coordinatorDefault('reportsListen').replace(/.*:/, '')} | coordinator | reports of agents`,
    `| ${value('scheduler.port')} | coordinator, with \`scheduler.enabled\``,
    `| ${coordinatorDefault('consoleListen').replace(/.*:/, '')} | coordinator, on loopback only`,
  ],
  'packages/kubectl-rollcall/src/check/cluster-checks.ts': [`OLDEST_MINOR = ${oldest?.split('.')[1]};`],
  'deploy/chart/Chart.yaml': [`kubeVersion: '>=${oldest}.0-0'`],
};
