/**
 * What each room may import from other rooms: data flows one way, and nothing downstream is imported by anything
 * upstream of it. A room is a folder that is named here, with the folders below it that are not. `agent` stands for the
 * files at the root of that program. `coordinator`, `coordinator/app` and `deploy/source` may import every room.
 */
export const ROOM_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  common: [],
  deploy: ['common', 'build.ts'],
  // Where the project is: `deploy/source/project.ts`.
  docs: ['common', 'deploy/source'],
  // In the browser.
  'console-page': ['common'],
  'kubectl-rollcall': ['common'],
  agent: ['common', 'agent/probes', 'agent/devices', 'agent/facts', 'agent/report'],
  'agent/probes': ['common', 'agent'],
  'agent/devices': ['common', 'agent'],
  'agent/facts': ['common', 'agent'],
  'agent/report': ['common', 'agent/probes', 'agent'],
  // Each line may import what stands above it, as far as it is named.
  'coordinator/model/inventory': ['common'],
  'coordinator/model/keys': ['common'],
  'coordinator/model': ['common', 'coordinator/model/inventory', 'coordinator/model/keys'],
  'coordinator/kube': ['common'],
  'coordinator/term': ['common', 'coordinator/model', 'coordinator/kube'],
  'coordinator/tls': ['common', 'coordinator/model', 'coordinator/kube'],
  'coordinator/state': [
    'common',
    'coordinator/model/inventory',
    'coordinator/model/keys',
    'coordinator/model',
    'coordinator/kube',
  ],
  'coordinator/state/services': [
    'common',
    'coordinator/model/inventory',
    'coordinator/model/keys',
    'coordinator/model',
    'coordinator/kube',
    'coordinator/state',
  ],
  'coordinator/state/holds': ['common', 'coordinator/model', 'coordinator/kube', 'coordinator/state'],
  'coordinator/watch': [
    'common',
    'coordinator/model',
    'coordinator/kube',
    'coordinator/state/services',
    'coordinator/state',
    'coordinator/state/holds',
  ],
  'coordinator/ingest': ['common', 'coordinator/kube', 'coordinator/term', 'coordinator/tls', 'coordinator/state'],
  'coordinator/decide/rules': ['common', 'coordinator/model/inventory', 'coordinator/model'],
  'coordinator/decide/rules/files': [
    'common',
    'coordinator/model/keys',
    'coordinator/model',
    'coordinator/decide/rules',
  ],
  'coordinator/decide/readiness': ['common', 'coordinator/model/inventory', 'coordinator/model', 'coordinator/state'],
  'coordinator/decide/labelers': [
    'common',
    'coordinator/model/inventory',
    'coordinator/model/keys',
    'coordinator/model',
    'coordinator/state',
    'coordinator/state/holds',
    'coordinator/decide/readiness',
  ],
  'coordinator/decide/intent': [
    'common',
    'coordinator/model/keys',
    'coordinator/model',
    'coordinator/state',
    'coordinator/decide/labelers',
  ],
  'coordinator/decide/guards': [
    'common',
    'coordinator/state',
    'coordinator/decide/readiness',
    'coordinator/decide/labelers',
  ],
  'coordinator/write': ['common', 'coordinator/kube', 'coordinator/decide/intent'],
  'coordinator/decide': [
    'common',
    'coordinator/model/inventory',
    'coordinator/model/keys',
    'coordinator/model',
    'coordinator/kube',
    'coordinator/state/services',
    'coordinator/state',
    'coordinator/decide/rules',
    'coordinator/state/holds',
    'coordinator/decide/readiness',
    'coordinator/decide/labelers',
    'coordinator/decide/intent',
    'coordinator/decide/guards',
  ],
  'coordinator/controller': [
    'common',
    'coordinator/model',
    'coordinator/kube',
    'coordinator/state',
    'coordinator/decide/labelers',
    'coordinator/decide/intent',
    'coordinator/decide/guards',
    'coordinator/decide',
    'coordinator/write',
  ],
  'coordinator/app': [],
  'coordinator/subscribers/events': ['common', 'coordinator/kube'],
  'coordinator/subscribers/notify': ['common'],
  'coordinator/subscribers/eviction': [
    'common',
    'coordinator/kube',
    'coordinator/write',
    'coordinator/subscribers/events',
  ],
  'coordinator/subscribers/status': [
    'common',
    'coordinator/model',
    'coordinator/kube',
    'coordinator/state',
    'coordinator/state/services',
    'coordinator/state/holds',
    'coordinator/decide',
    'coordinator/decide/labelers',
    'coordinator/subscribers/events',
  ],
  'coordinator/subscribers': [
    'common',
    'coordinator/model',
    'coordinator/kube',
    'coordinator/state',
    'coordinator/decide/labelers',
    'coordinator/decide/guards',
    'coordinator/decide',
    'coordinator/subscribers/events',
    'coordinator/subscribers/eviction',
    'coordinator/subscribers/notify',
    'coordinator/state/services',
    'coordinator/controller',
    'coordinator/subscribers/status',
  ],
  'coordinator/subscribers/ledger': [
    'common',
    'coordinator/model',
    'coordinator/state',
    'coordinator/decide/readiness',
    'coordinator/decide/labelers',
    'coordinator/decide/intent',
    'coordinator/decide',
    'coordinator/write',
  ],
  'scheduler-extender/scoring': ['common', 'coordinator/model', 'coordinator/state'],
  'coordinator/term/leader': ['common'],
  'scheduler-extender/extender': ['common', 'coordinator/tls', 'scheduler-extender/scoring', 'coordinator/term/leader'],
  'coordinator/answer/console': [
    'common',
    'coordinator/term/leader',
    'coordinator/model',
    'coordinator/term',
    'coordinator/state/services',
    'coordinator/state',
    'coordinator/decide/labelers',
    'coordinator/decide/intent',
    'coordinator/decide',
    'coordinator/write',
  ],
  'coordinator/answer': [
    'common',
    'coordinator/model/keys',
    'coordinator/model',
    'coordinator/kube',
    'coordinator/term',
    'coordinator/state/services',
    'coordinator/state',
    'coordinator/decide/rules/files',
    'coordinator/decide/labelers',
    'coordinator/decide',
    'coordinator/subscribers/eviction',
    'coordinator/subscribers/ledger',
    'coordinator/answer/console',
  ],
  'scheduler-extender': [
    'common',
    'coordinator/model',
    'coordinator/term/leader',
    'coordinator/tls',
    'coordinator/state',
    'coordinator/decide/labelers',
    'coordinator/decide',
    'scheduler-extender/scoring',
    'scheduler-extender/extender',
  ],
};

/** Files at the root of the agent that its rooms may import: they import no room themselves. */
export const SHARED_ROOT_FILES: readonly string[] = [
  'coordinator/src/model/services.ts',
  'coordinator/src/model/pools.ts',
  'agent/src/config.ts',
  'agent/src/collector-metrics.ts',
  'agent/src/host-lookup.ts',
  'agent/src/path-turns.ts',
];

/** Rooms that are pure: values in, values out. */
export const PURE_ROOMS: readonly string[] = [
  'coordinator/model/keys',
  'coordinator/model/inventory',
  'coordinator/state',
  'coordinator/decide/readiness',
  'coordinator/decide/labelers',
  'coordinator/decide/intent',
  'coordinator/decide/rules',
  'coordinator/decide/guards',
  'scheduler-extender/scoring',
];

/** Where the process environment may be read. */
export const ENVIRONMENT_FILES: readonly RegExp[] = [
  /^(agent|coordinator|packages\/kubectl-rollcall)\/src\/main\.ts$/,
  /^test\//,
  /^packages\/common\/src\/testing\/fuzz\.ts$/,
  /^build\.ts$/,
  /^deploy\/(image|release)\/main\.ts$/,
];

/** Files above the limit of lines, with the reason. */
export const LARGE_FILES: Readonly<Record<string, string>> = {};

/** READMEs of rooms that are longer than others may be. A new one is not added here: what explains goes into a design record. */
export const LONG_READMES: readonly string[] = [
  'agent/src/probes/README.md',
  'coordinator/src/decide/guards/README.md',
  'coordinator/src/state/README.md',
  'coordinator/src/tls/README.md',
  'coordinator/src/write/README.md',
];

/** READMEs of rooms that do not say yet what comes in, what goes out, or what the room never does. */
export const UNFINISHED_READMES: readonly string[] = [
  'coordinator/src/decide/labelers/README.md',
  'coordinator/src/state/holds/README.md',
];

/** Phrases without a clear subject or object, in comments, names of tests and documents. */
export const BANNED_PHRASES = [
  'nobody',
  'somebody',
  'anybody',
  'everybody',
  'unless told',
  'says so',
  'goes by',
  'told of',
  'tells of',
  'tell of',
  'people ask for',
];

export const LINES_MAX = 500;
