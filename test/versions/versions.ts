/** Minor versions of Kubernetes that `npm run test:versions` runs, oldest first; each is a folder with a go.mod. */
export const VERSIONS: readonly string[] = ['1.34', '1.35', '1.36'];

/** End-to-end tests of what depends on the API server, and needs neither kube-scheduler nor MutatingAdmissionPolicy (as the tests of the fence for pools do). */
export const CORE: readonly string[] = [
  'test/e2e/main-job',
  'test/e2e/apply/writes.test.ts',
  'test/e2e/apply/refusals.test.ts',
  'test/e2e/apply/conditions.test.ts',
  'test/e2e/ingest/authentication.test.ts',
  'test/e2e/ingest/local-verification.test.ts',
  'test/e2e/kube/reflector.test.ts',
  'test/e2e/kube/lease.test.ts',
  'test/e2e/pools/crd.test.ts',
  'test/e2e/services/crd.test.ts',
  'test/e2e/services/live.test.ts',
  'test/e2e/services/conditions-fence.test.ts',
  'test/e2e/hostile/fence.test.ts',
  'test/e2e/hostile/fence-requests.test.ts',
  'test/e2e/eviction/evictions.test.ts',
  'test/chart/cluster.test.ts',
  'test/chart/uninstall.test.ts',
];
