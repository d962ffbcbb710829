/**
 * Unit tests that try thousands of random or very large inputs, and what of. They run with the random histories, so that
 * `npm run test:unit` remains a matter of seconds. All others belong to the project `unit`.
 */
export const LONG: Readonly<Record<string, string>> = {
  'agent/src/devices/hostile-trees.test.ts': 'random trees of devices',
  'agent/src/devices/many-devices.test.ts': 'a thousand devices',
  'agent/src/probes/hostile-answers.test.ts': 'random answers of services',
  'agent/src/report/hostile-text.test.ts': 'random text of resolv.conf',
  'agent/src/facts/hostile-text.test.ts': 'random text of feature files',
  'coordinator/src/answer/console/console-server.hostile.test.ts': 'random bytes to the console',
  'packages/scheduler-extender/src/extender/extender-server.hostile.test.ts': 'random bytes to the scheduler extender',
  'packages/scheduler-extender/src/extender/hostile.test.ts': 'random requests',
  'coordinator/src/answer/large-fleet.test.ts': 'documents about 5,000 nodes',
  'coordinator/src/decide/intent/plan-keys.model.test.ts': 'random edits by a person between two requests',
  'coordinator/src/decide/intent/plan-set-aside.model.test.ts': 'random nodes and intents',
  'coordinator/src/decide/rules/files/rule-directory.hostile.test.ts': 'random directories, and a thousand files',
  'coordinator/src/decide/rules/parse-rule-file.hostile.test.ts': 'random text',
  'coordinator/src/decide/rules/rule-set.model.test.ts': 'random rules and nodes',
  'coordinator/src/app/replica.growth.test.ts': 'a thousand edits with ten thousand pods',
  'coordinator/src/ingest/hostile-bytes.test.ts': 'random bytes instead of reports',
  'coordinator/src/ingest/report-schema.hostile.test.ts': 'random reports',
  'coordinator/src/ingest/second-opinion.test.ts': 'ten thousand tokens, each verified twice',
  'coordinator/src/kube/kubeconfig.hostile.test.ts': 'random kubeconfigs',
  'coordinator/src/term/lease-chaos.test.ts': 'random failures of replicas and the API server',
  'coordinator/src/tls/stored-certificates.test.ts': 'the certificates of fifteen years',
  'packages/common/src/observability-server.hostile.test.ts': 'random bytes to the health listener',
  'test/fence-proof/fence-proof.test.ts': 'every pair of Nodes of a small scope, by the CEL of the API server',
  'test/mutants/shipped.test.ts': 'a vitest of its own for each of ten defects',
};
