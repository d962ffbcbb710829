/**
 * End-to-end tests that run two at a time, after the others, and why. All others run side by side: a file
 * belongs there unless what it asserts would be wrong on a busy machine.
 */
export const ALONE: Readonly<Record<string, string>> = {
  'packages/common/src/lifecycle.process.test.ts': 'a program that ends within five seconds',
  'test/browser/cluster.test.ts': 'a cell that changes within half a second',
  'test/e2e/apply/faults.test.ts': 'the pace of retries',
  'test/e2e/apply/hanging.test.ts': 'seconds until Nodes are written beside writes that hang',
  'test/e2e/events/event-recorder.test.ts': 'Events a second',
  'test/e2e/gitpod/gates-foreign.test.ts': 'conflicts, which happen by chance',
  'test/e2e/gitpod/hanging.test.ts': 'seconds until a hanging service is found',
  'test/e2e/services/rest.test.ts': 'seconds until a service that is asked less often is found to hang',
  'test/e2e/gitpod/pods-compatibility.test.ts': 'conflicts, which happen by chance',
  'test/e2e/gitpod/scale-down.test.ts': 'seconds until a mark is taken back',
  'test/e2e/gitpod/workspace-storm.test.ts': 'as many pods as the machine can make',
  'test/e2e/guards/deleted-together.test.ts': 'a withdrawal within two seconds',
  'test/e2e/hardware/coral-times.test.ts': 'seconds from a plug to a label',
  'test/e2e/hardware/gpu-times.test.ts': 'seconds from a GPU that goes to its count',
  'test/e2e/hardware/rules.test.ts': 'the age of reports',
  'test/e2e/kubectl/runbook-faults.test.ts': 'alerts over windows of six seconds',
  'test/e2e/kube/lease.test.ts': 'a lease of three seconds',
  'test/e2e/main-job/real-times.test.ts': 'leases, holds and back-offs on the clock of the machine',
  'test/e2e/main-job/readiness.test.ts': 'withdrawals within one and two seconds',
  'test/e2e/pools/race.test.ts': 'pods in a race with the coordinator',
  'test/e2e/services/live.test.ts': 'a withdrawal within a second',
  'test/e2e/scheduler/burst.test.ts': 'as many pods as the scheduler can place',
  'test/e2e/scheduler/harm.test.ts': 'seconds that pods wait for a coordinator that hangs',
  'test/perturb/agents/agents.test.ts': 'how often agents report',
  'test/soak/soak.test.ts': 'as much as a machine bears at once',
};
