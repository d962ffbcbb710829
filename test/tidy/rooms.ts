/**
 * What each room may import from other rooms: data goes one way, and nothing downstream is imported by anything
 * upstream of it. `agent` and `coordinator` stand for the files at the root of the program.
 */
export const ROOM_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  common: [],
  deploy: ['common', 'build.ts'],
  agent: ['common', 'agent/probes', 'agent/devices', 'agent/facts', 'agent/report'],
  'agent/probes': ['common'],
  'agent/devices': ['common', 'agent'],
  'agent/facts': ['common', 'agent'],
  'agent/report': ['common', 'agent/probes', 'agent'],
  coordinator: [
    'common',
    'coordinator/kube',
    'coordinator/tls',
    'coordinator/ingest',
    'coordinator/fleet',
    'coordinator/readiness',
    'coordinator/labelers',
    'coordinator/intent',
    'coordinator/apply',
    'coordinator/events',
    'coordinator/eviction',
    'coordinator/console',
    'coordinator/pool-status',
    'coordinator/rules',
    'coordinator/rule-files',
    'coordinator/notify',
    'coordinator/scheduler',
    'coordinator/extender',
  ],
  'coordinator/kube': ['common'],
  'coordinator/tls': ['common', 'coordinator/kube'],
  'coordinator/ingest': ['common', 'coordinator/kube', 'coordinator/tls'],
  'coordinator/fleet': ['common', 'coordinator/kube', 'coordinator'],
  'coordinator/readiness': ['common', 'coordinator/fleet', 'coordinator'],
  'coordinator/labelers': ['common', 'coordinator/fleet', 'coordinator/readiness', 'coordinator'],
  'coordinator/intent': ['common', 'coordinator/fleet', 'coordinator/readiness', 'coordinator/labelers', 'coordinator'],
  'coordinator/pool-status': [
    'common',
    'coordinator/kube',
    'coordinator/fleet',
    'coordinator/labelers',
    'coordinator/events',
  ],
  'coordinator/console': [
    'common',
    'coordinator/fleet',
    'coordinator/labelers',
    'coordinator/intent',
    'coordinator/apply',
    'coordinator',
  ],
  'coordinator/apply': ['common', 'coordinator/kube', 'coordinator/intent'],
  'coordinator/events': ['common', 'coordinator/kube'],
  'coordinator/rules': ['common'],
  'coordinator/rule-files': ['common', 'coordinator/rules'],
  'coordinator/notify': ['common'],
  'coordinator/scheduler': ['common', 'coordinator/fleet'],
  'coordinator/extender': ['common', 'coordinator/scheduler', 'coordinator/tls'],
  'coordinator/eviction': ['common', 'coordinator/kube', 'coordinator/apply', 'coordinator/events'],
  test: [
    'common',
    'agent',
    'coordinator',
    'agent/probes',
    'agent/report',
    'coordinator/kube',
    'coordinator/tls',
    'coordinator/ingest',
    'coordinator/apply',
    'coordinator/events',
    'coordinator/eviction',
    'coordinator/intent',
    'coordinator/fleet',
    'coordinator/labelers',
    'coordinator/console',
  ],
};

/** Files at the root of a program that rooms may import: they hold names and settings, and import no room. */
export const SHARED_ROOT_FILES: readonly string[] = [
  'coordinator/src/services.ts',
  'coordinator/src/pools.ts',
  'coordinator/src/reserved-domains.ts',
  'agent/src/config.ts',
  'agent/src/collector-metrics.ts',
];

/** Rooms that are pure: values in, values out. */
export const PURE_ROOMS: readonly string[] = [
  'coordinator/fleet',
  'coordinator/readiness',
  'coordinator/labelers',
  'coordinator/intent',
  'coordinator/rules',
  'coordinator/scheduler',
];

/** Where the process environment may be read. */
export const ENVIRONMENT_FILES: readonly RegExp[] = [
  /^(agent|coordinator)\/src\/main\.ts$/,
  /^test\//,
  /^build\.ts$/,
  /^deploy\/image\/main\.ts$/,
];

/** Files above the limit of lines, with the reason. */
export const LARGE_FILES: Readonly<Record<string, string>> = {};

export const LINES_MAX = 400;
