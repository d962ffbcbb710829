import path from 'node:path';
import { LONG } from './long.ts';

/** Unit tests: all of them are in `npm test`. */
export const UNIT_TESTS: readonly string[] = [
  '{agent,coordinator,packages/*}/src/**/*.test.ts',
  'deploy/**/*.test.ts',
  'test/{tidy,claims,mutants,release}/**/*.test.ts',
];

/** Tests in rooms that start programs: they run with the end-to-end tests. */
export const PROCESSES = '{agent,coordinator,packages/*}/src/**/*.process.test.ts';

/**
 * What `npm test` runs besides the unit tests, and why. All else runs in `npm run test:all`. `claims/short.test.ts` fails
 * where a promise of README.md or SECURITY.md, or a mutant that must not survive, has no test here or in the unit tests.
 */
export const SHORT: Readonly<Record<string, string>> = {
  'test/e2e/main-job/readiness.test.ts': 'README: a killed service loses its label',
  'test/e2e/gitpod/hanging.test.ts': 'README: a service that hangs loses its label',
  'test/e2e/services/hanging.test.ts': 'README: a service that hangs loses its label, by http and grpc as well',
  'test/e2e/services/rest.test.ts':
    'README: a service that hangs loses its label within 8 s, also after a minute of rest',
  'test/e2e/main-job/failover.test.ts': 'README: a restart of a coordinator removes and writes nothing',
  'test/e2e/agent/restart.test.ts': 'README: a restart of an agent removes nothing',
  'test/e2e/main-job/silence.test.ts': 'README: what the silence of one agent, of most, and an agent that goes on cost',
  'test/e2e/pools/fence.test.ts':
    'README, SECURITY: keys of others are left alone, and the fence refuses what would change them',
  'test/chart/uninstall.test.ts': 'README: an uninstallation leaves nothing on any node',
  'test/e2e/services/live.test.ts': 'a NodeService that is created, edited and deleted, from the object to the Node',
  'test/e2e/services/conditions.test.ts': 'the published condition, which no other file of this list writes',
  'test/e2e/gitpod/gates.test.ts': 'the published taint, which no other file of this list writes',
  'test/e2e/pools/node-pool-labels.test.ts': 'labels of pools, with their status',
  'test/e2e/hardware/usable.test.ts': 'labels of devices, from the tree of a machine to the Node',
  'test/e2e/apply/writes.test.ts':
    'SECURITY: a write carries the uid of its Node; the only requests of the writer to a real API server',
  'test/e2e/ingest/authentication.test.ts': 'SECURITY: tokens',
  'test/e2e/hostile/sessions.test.ts': 'SECURITY: sessions of agents',
  'test/e2e/hostile/neighbourhood.test.ts': 'SECURITY: connections, and the bytes of a node',
  'test/e2e/hostile/pipelining.test.ts': 'SECURITY: requests that do not wait for answers',
  'test/e2e/hostile/records.test.ts': 'SECURITY: TLS records and ClientHellos',
  'test/e2e/hostile/odd-replies.test.ts': 'SECURITY: replies to agents',
  'test/e2e/hostile/console.test.ts': 'SECURITY: the console changes nothing, and sends on to the leader alone',
  'test/e2e/hostile/fence.test.ts': 'SECURITY: managedFields and taints behind the fence',
  'test/chart/theft.test.ts': 'SECURITY: a stolen token gets no token of another account',
  'test/e2e/hostile/fence-objects.test.ts': 'SECURITY: the other objects behind the fence',
  'test/e2e/hostile/recorded-run.test.ts': 'SECURITY: every right is used',
  'test/e2e/hostile/fence-requests.test.ts': 'SECURITY: random requests behind the fence',
  'test/e2e/services/conditions-fence.test.ts': 'SECURITY: conditions behind the fence',
  'test/e2e/services/large-lists.test.ts': 'SECURITY: the largest NodeServices',
  'test/chart/least-rights.test.ts': 'SECURITY: the rights of both accounts',
  'test/chart/network-policy.test.ts': 'SECURITY: who may ask for metrics',
  'coordinator/src/kube/exec-plugin.process.test.ts': 'SECURITY: credential plugins that hang',
  'coordinator/src/main.process.test.ts': 'SECURITY: no credentials in clear text; the command line of the coordinator',
  'agent/src/main.process.test.ts': 'the command line of the agent, and its signals',
  'agent/src/main.hostile-peers.process.test.ts': 'SECURITY: services that speak HTTP/2 end no agent',
  'agent/src/main.hung-paths.process.test.ts': 'SECURITY: paths and directories that hang',
  'agent/src/probes/hostile-answers.test.ts': 'SECURITY: answers of services',
  'coordinator/src/ingest/hostile-bytes.test.ts': 'SECURITY: bytes to the listener for reports',
  'coordinator/src/ingest/report-schema.hostile.test.ts': 'SECURITY: reports',
  'packages/scheduler-extender/src/extender/extender-server.hostile.test.ts':
    'SECURITY: bytes to the scheduler extender',
  'packages/common/src/observability-server.hostile.test.ts': 'SECURITY: bytes to the health listener',
  'test/model/histories.test.ts': 'random histories of everything that decides about a key',
  'test/browser/page.test.ts': 'the page in a browser',
  'test/browser/hostile.test.ts': 'SECURITY: the page',
  'test/real-node/product/rollout.test.ts': 'one rollout on real nodes',
};

/** Random histories of the model that `npm test` plays. */
export const SHORT_HISTORIES = 200;

/** Whether `npm test` runs this file. */
export function isInShort(file: string): boolean {
  if (file in SHORT) return true;
  if (file in LONG || path.matchesGlob(file, PROCESSES)) return false;
  return UNIT_TESTS.some((pattern) => path.matchesGlob(file, pattern));
}
