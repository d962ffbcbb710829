import path from 'node:path';
import { createVitest, type TestModule, type TestRunEndReason, type TestSpecification } from 'vitest/node';
import { isInShort } from '../short.ts';
import type { RunReply, RunRequest, WhichTests } from './kept-vitest.ts';

/** No test hangs for less than the whole run may: a busy machine must not look like a test that noticed something. */
const TEST_TIMEOUT_MS = 300_000;
const ANY_NAME = '';
/** They ask git which files there are, and a copy has no repository. */
const OF_DOCUMENTS = /^(test\/(claims|tidy)|deploy\/source)\//;
/** The start of a worker takes longer than most tests of a room. */
const WORKERS_MAX = 2;

type Ended = { modules: readonly TestModule[]; errors: readonly unknown[]; reason: TestRunEndReason };
let ended: Ended = { modules: [], errors: [], reason: 'passed' };

const vitest = await createVitest({
  watch: false,
  project: ['unit', 'long'],
  reporters: [
    {
      onTestRunEnd(modules, errors, reason) {
        ended = { modules, errors, reason };
      },
    },
  ],
  bail: 1,
  testTimeout: TEST_TIMEOUT_MS,
  passWithNoTests: true,
});

for (const { config } of vitest.projects) config.maxWorkers = WORKERS_MAX;

async function specificationsOf(which: WhichTests): Promise<TestSpecification[]> {
  if ('paths' in which) return vitest.getRelevantTestSpecifications([...which.paths]);
  vitest.config.related = which.related.map((file) => path.resolve(file));
  try {
    const found = await vitest.getRelevantTestSpecifications();
    return found.filter(({ moduleId }) => {
      const file = path.relative(process.cwd(), moduleId);
      return isInShort(file) && !OF_DOCUMENTS.test(file);
    });
  } finally {
    delete vitest.config.related;
  }
}

async function run({ which, changed }: RunRequest): Promise<RunReply> {
  for (const file of changed) vitest.invalidateFile(path.resolve(file));
  vitest.setGlobalTestNamePattern('name' in which && which.name !== undefined ? RegExp.escape(which.name) : ANY_NAME);
  const specifications = await specificationsOf(which);
  if (specifications.length === 0) return { passed: 0, hasFailed: false };
  await vitest.runTestSpecifications(specifications);
  const { modules, errors, reason } = ended;
  const passed = modules.reduce((sum, each) => sum + [...each.children.allTests('passed')].length, 0);
  // The first failure interrupts the run, and may itself be missing in the results then.
  const by = firstFailure(modules) ?? (reason === 'interrupted' ? 'a test' : undefined);
  return { passed, hasFailed: reason !== 'passed' || errors.length > 0, ...(by !== undefined && { by }) };
}

function firstFailure(modules: readonly TestModule[]): string | undefined {
  for (const each of modules) {
    const [failed] = each.children.allTests('failed');
    if (failed) return `${path.relative(process.cwd(), each.moduleId)} > ${failed.fullName}`;
  }
  return undefined;
}

process.on('message', async (request: RunRequest) => process.send?.(await run(request)));
process.once('disconnect', () => process.exit());
