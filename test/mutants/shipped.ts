import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { type Copy, inCopy } from './copy.ts';

export type ShippedDefect = {
  /** Name of the patch in `shipped/`. */
  name: string;
  /** Who shipped it. */
  from: string;
  /** The file and the name of the test that must catch it. */
  caughtBy: readonly [file: string, test: string];
};

/** Each is planted where this code base would have it. */
export const SHIPPED: readonly ShippedDefect[] = [
  {
    name: 'nfd-2408',
    from: 'NFD#2408: a restarted master took what it did not know yet for gone, and removed the labels',
    caughtBy: ['coordinator/src/controller/operated.test.ts', 'is nothing to a replica that leads again'],
  },
  {
    name: 'nfd-1802',
    from: 'NFD#1802: a list that timed out counted as an empty one, and all labels were removed',
    caughtBy: [
      'coordinator/src/kube/reflector.test.ts',
      'a list that breaks off in the middle, or is none, takes nothing away',
    ],
  },
  {
    name: 'nrc-382',
    from: 'node-readiness-controller#382: a node noted as done while it had the taint kept it for ever',
    caughtBy: [
      'coordinator/src/decide/labelers/readiness.test.ts',
      'that has to be ready once keeps its taint until that is noted, and then loses it',
    ],
  },
  {
    name: 'nrc-374',
    from: 'node-readiness-controller#374: deleting a rule removed taints that it had never put there',
    caughtBy: [
      'coordinator/src/decide/intent/plan-keys.test.ts',
      'leaves no taint and no label behind, and nothing of others goes',
    ],
  },
  {
    name: 'efs-csi-1936',
    from: 'aws-efs-csi-driver#1936: the startup taint was removed before the driver was ready',
    caughtBy: [
      'coordinator/src/decide/labelers/startup-gate.test.ts',
      'a node waits for a service by its name, where the service is for it, and a label of that name is nothing',
    ],
  },
  {
    name: 'eks-latched',
    from: 'eks-node-monitoring-agent: a condition stayed False after its cause was gone, until a restart',
    caughtBy: ['coordinator/src/decide/readiness/tracker.test.ts', 'is ready at once after three falls'],
  },
  {
    name: 'nvsentinel-quarantine',
    from: 'NVSentinel: one false signal took most nodes of a cluster out of service',
    caughtBy: [
      'coordinator/src/state/freshness.test.ts',
      'holds before the first of many nodes that stopped at one moment counts as silent',
    ],
  },
  {
    name: 'client-go-release',
    from: 'client-go: the Lease was freed while what the leader had begun was still under way',
    caughtBy: [
      'coordinator/src/term/lease.test.ts',
      'hands over within half a second of a clean stop, once the writes under way have settled',
    ],
  },
  {
    name: 'gitpod-label-stays',
    from: "Gitpod's node-labeler: the label stayed where the pod was deleted by force",
    caughtBy: ['coordinator/src/decide/readiness/verdict.test.ts', 'is not ready when there is no pod'],
  },
  {
    name: 'npls-lost-patch',
    from: 'NodePoolLabelSet operator: a patch that failed was logged, and never tried again',
    caughtBy: ['coordinator/src/write/write-queue.test.ts', 'because the API server fails is repeated later and later'],
  },
];

const LIMIT_MS = 300_000;

export function patchOf({ name }: ShippedDefect): string {
  return path.join(import.meta.dirname, 'shipped', `${name}.patch`);
}

/**
 * Plants each defect in a copy, and runs the test that must catch it: it must fail with the defect, and pass without.
 * Whether all were caught.
 */
export async function runShipped(say: (line: string) => void, only?: string): Promise<boolean> {
  const defects = SHIPPED.filter(({ name }) => only === undefined || name === only);
  let caught = 0;
  await inCopy(async (copy) => {
    for (const defect of defects) {
      const by = await catcherOf(defect, copy);
      if (by.isCaught) caught += 1;
      say(`  ${by.isCaught ? 'caught' : 'MISSED'}  ${defect.name}: ${by.what}`);
    }
  });
  say(`${caught} of ${defects.length} shipped defects caught`);
  return caught === defects.length && caught > 0;
}

async function catcherOf(
  defect: ShippedDefect,
  { directory, tests }: Copy,
): Promise<{ isCaught: boolean; what: string }> {
  const { caughtBy } = defect;
  const [file, test] = caughtBy;
  const patch = (...options: string[]) => {
    execFileSync('git', ['apply', ...options, patchOf(defect)], { cwd: directory });
    const listed = execFileSync('git', ['apply', '--numstat', '-z', patchOf(defect)], { cwd: directory });
    for (const line of listed.toString().split('\0')) if (line) tests.changed(line.split('\t').at(-1) ?? '');
  };
  const run = () => tests.run({ paths: [file], name: test }, LIMIT_MS);
  const without = await run();
  if (without.result !== 'passed' || without.passed === 0)
    return { isCaught: false, what: 'the test does not pass without it' };
  patch();
  const planted = await run();
  patch('--reverse');
  if (planted.result !== 'failed') return { isCaught: false, what: planted.result };
  return { isCaught: planted.by?.endsWith(test) === true, what: planted.by ?? 'the file could not be loaded' };
}
