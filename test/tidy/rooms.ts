/**
 * What each room may import from other rooms: data flows one way, and nothing downstream is imported by anything
 * upstream of it. A room is a folder that is named here, with the folders below it that are not. `agent` stands for the
 * files at the root of that program, `coordinator` for the wiring, which may import every room.
 */
export const ROOM_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  common: [],
  deploy: ['common', 'build.ts'],
  // In the browser.
  'console-page': ['common'],
  'kubectl-rollcall': ['common'],
  agent: ['common', 'agent/probes', 'agent/devices', 'agent/facts', 'agent/report'],
  'agent/probes': ['common', 'agent'],
  'agent/devices': ['common', 'agent'],
  'agent/facts': ['common', 'agent'],
  'agent/report': ['common', 'agent/probes', 'agent'],
  // Each line may import what stands above it, as far as it is named.
  'coordinator/inventory': ['common'],
  'coordinator/setup/keys': ['common'],
  'coordinator/setup': ['common', 'coordinator/inventory', 'coordinator/setup/keys'],
  'coordinator/kube': ['common'],
  'coordinator/term': ['common', 'coordinator/setup', 'coordinator/kube'],
  'coordinator/tls': ['common', 'coordinator/setup', 'coordinator/kube'],
  'coordinator/services': [
    'common',
    'coordinator/inventory',
    'coordinator/setup/keys',
    'coordinator/setup',
    'coordinator/kube',
  ],
  'coordinator/fleet': ['common', 'coordinator/inventory', 'coordinator/setup', 'coordinator/kube'],
  'coordinator/holds': ['common', 'coordinator/setup', 'coordinator/kube', 'coordinator/fleet'],
  'coordinator/watch': [
    'common',
    'coordinator/setup',
    'coordinator/kube',
    'coordinator/services',
    'coordinator/fleet',
    'coordinator/holds',
  ],
  'coordinator/ingest': ['common', 'coordinator/kube', 'coordinator/term', 'coordinator/tls', 'coordinator/fleet'],
  'coordinator/decide/rules': ['common', 'coordinator/inventory', 'coordinator/setup'],
  'coordinator/decide/rules/files': [
    'common',
    'coordinator/setup/keys',
    'coordinator/setup',
    'coordinator/decide/rules',
  ],
  'coordinator/decide/readiness': ['common', 'coordinator/inventory', 'coordinator/setup', 'coordinator/fleet'],
  'coordinator/decide/labelers': [
    'common',
    'coordinator/inventory',
    'coordinator/setup/keys',
    'coordinator/setup',
    'coordinator/fleet',
    'coordinator/holds',
    'coordinator/decide/readiness',
  ],
  'coordinator/decide/intent': [
    'common',
    'coordinator/setup/keys',
    'coordinator/setup',
    'coordinator/fleet',
    'coordinator/decide/labelers',
  ],
  'coordinator/decide/guards': ['common', 'coordinator/decide/labelers'],
  'coordinator/apply': ['common', 'coordinator/kube', 'coordinator/decide/intent'],
  'coordinator/decide': [
    'common',
    'coordinator/setup/keys',
    'coordinator/setup',
    'coordinator/kube',
    'coordinator/fleet',
    'coordinator/holds',
    'coordinator/decide/readiness',
    'coordinator/decide/labelers',
    'coordinator/decide/intent',
    'coordinator/decide/guards',
    'coordinator/apply',
  ],
  'coordinator/follow/events': ['common', 'coordinator/kube'],
  'coordinator/follow/notify': ['common'],
  'coordinator/follow/eviction': ['common', 'coordinator/kube', 'coordinator/apply', 'coordinator/follow/events'],
  'coordinator/follow/status': [
    'common',
    'coordinator/setup',
    'coordinator/kube',
    'coordinator/fleet',
    'coordinator/services',
    'coordinator/holds',
    'coordinator/decide',
    'coordinator/decide/labelers',
    'coordinator/follow/events',
  ],
  'coordinator/follow': [
    'common',
    'coordinator/setup',
    'coordinator/kube',
    'coordinator/fleet',
    'coordinator/decide/labelers',
    'coordinator/decide/guards',
    'coordinator/decide',
    'coordinator/follow/events',
    'coordinator/follow/eviction',
    'coordinator/follow/notify',
  ],
  'coordinator/follow/ledger': [
    'common',
    'coordinator/setup',
    'coordinator/fleet',
    'coordinator/decide/readiness',
    'coordinator/decide/labelers',
    'coordinator/decide/intent',
    'coordinator/decide',
  ],
  'coordinator/answer/scheduler': ['common', 'coordinator/setup', 'coordinator/fleet'],
  'coordinator/answer/leader': ['common'],
  'coordinator/answer/extender': [
    'common',
    'coordinator/tls',
    'coordinator/answer/scheduler',
    'coordinator/answer/leader',
  ],
  'coordinator/answer/console': [
    'common',
    'coordinator/answer/leader',
    'coordinator/setup',
    'coordinator/term',
    'coordinator/services',
    'coordinator/fleet',
    'coordinator/decide/labelers',
    'coordinator/decide/intent',
    'coordinator/decide',
  ],
  'coordinator/answer': [
    'common',
    'coordinator/setup/keys',
    'coordinator/setup',
    'coordinator/kube',
    'coordinator/term',
    'coordinator/tls',
    'coordinator/services',
    'coordinator/fleet',
    'coordinator/decide/rules/files',
    'coordinator/decide/labelers',
    'coordinator/decide',
    'coordinator/follow/eviction',
    'coordinator/follow/ledger',
    'coordinator/answer/scheduler',
    'coordinator/answer/leader',
    'coordinator/answer/extender',
    'coordinator/answer/console',
  ],
};

/** Files at the root of the agent that its rooms may import: they import no room themselves. */
export const SHARED_ROOT_FILES: readonly string[] = [
  'coordinator/src/setup/services.ts',
  'coordinator/src/setup/pools.ts',
  'agent/src/config.ts',
  'agent/src/collector-metrics.ts',
  'agent/src/path-turns.ts',
];

/** Rooms that are pure: values in, values out. */
export const PURE_ROOMS: readonly string[] = [
  'coordinator/setup/keys',
  'coordinator/inventory',
  'coordinator/fleet',
  'coordinator/decide/readiness',
  'coordinator/decide/labelers',
  'coordinator/decide/intent',
  'coordinator/decide/rules',
  'coordinator/decide/guards',
  'coordinator/answer/scheduler',
];

/** Where the process environment may be read. */
export const ENVIRONMENT_FILES: readonly RegExp[] = [
  /^(agent|coordinator|packages\/kubectl-rollcall)\/src\/main\.ts$/,
  /^test\//,
  /^packages\/common\/src\/fuzz-fixtures\.ts$/,
  /^build\.ts$/,
  /^deploy\/(image|release)\/main\.ts$/,
];

/** Files above the limit of lines, with the reason. */
export const LARGE_FILES: Readonly<Record<string, string>> = {};

export const LINES_MAX = 500;
