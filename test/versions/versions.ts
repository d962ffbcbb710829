/** Minor versions of Kubernetes that `npm run test:versions` runs, oldest first; each is a folder with a go.mod. */
export const VERSIONS: readonly string[] = ['1.34', '1.35', '1.36'];

/** End-to-end tests of what depends on the API server, and needs neither kube-scheduler nor MutatingAdmissionPolicy. */
const CORE: readonly string[] = [
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
  'test/chart/combinations.test.ts',
  'test/chart/uninstall.test.ts',
];

/** The fence for labels of pools, with the policies that label new Nodes, which need MutatingAdmissionPolicy. */
const SINCE_1_36: readonly string[] = ['test/e2e/pools/fence.test.ts', 'test/e2e/pools/admission.test.ts'];

/** The test files to run on the API server of a minor version. */
export function testsFor(version: string): readonly string[] {
  return Number(version.split('.')[1]) < 36 ? CORE : [...CORE, ...SINCE_1_36];
}
