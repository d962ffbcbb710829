import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';

export type TestRun =
  | { result: 'passed'; passed: number; tookMs: number }
  /** `by`: the first test that failed, or `undefined` for a file that could not even be loaded. */
  | { result: 'failed'; by: string | undefined; tookMs: number }
  | { result: 'overtime'; tookMs: number };

type JsonReport = {
  numPassedTests: number;
  testResults: { name: string; status: string; assertionResults: { status: string; fullName: string }[] }[];
};

/** Of what is tried at random there is enough in this to notice most, and thousands of runs to come. */
const FEWER = { ROLLCALL_HISTORIES: '100' };
/** No test hangs for less than the whole run may: a busy machine must not look like a test that noticed something. */
const TEST_TIMEOUT_MS = 90_000;

/**
 * Runs vitest in `directory` until the first test fails. `which` is what follows `vitest`: `['run', 'FILE']`, or
 * `['related', 'FILE', '--run']`. A run that takes longer than `limitMs` is ended, as an endless loop must be.
 */
export async function runTests(
  directory: string,
  which: readonly string[],
  { limitMs }: { limitMs: number },
): Promise<TestRun> {
  const report = path.join(directory, '.mutants-report.json');
  rmSync(report, { force: true });
  const vitest = path.join(directory, 'node_modules/vitest/vitest.mjs');
  const reporting = [
    '--bail=1',
    '--reporter=json',
    `--outputFile=${report}`,
    '--passWithNoTests',
    `--testTimeout=${TEST_TIMEOUT_MS}`,
  ];
  const startedMs = performance.now();
  const child = spawn(process.execPath, [vitest, ...which, '--project=unit', '--project=long', ...reporting], {
    cwd: directory,
    stdio: 'ignore',
    env: { ...process.env, ...FEWER },
    // A group of its own, so that its workers end with it.
    detached: true,
  });
  let isOvertime = false;
  const timer = setTimeout(() => {
    isOvertime = true;
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, limitMs);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  clearTimeout(timer);
  const tookMs = performance.now() - startedMs;
  if (isOvertime) return { result: 'overtime', tookMs };
  const { numPassedTests, testResults } = readReport(report);
  if (code === 0) return { result: 'passed', passed: numPassedTests, tookMs };
  return { result: 'failed', by: firstFailure(testResults, directory), tookMs };
}

/** A file that was not run for the failure of another is reported as failed as well, without a test. */
function firstFailure(results: JsonReport['testResults'], directory: string): string | undefined {
  for (const { name, assertionResults } of results) {
    const failed = assertionResults.find(({ status }) => status === 'failed');
    if (failed) return `${path.relative(directory, name)} > ${failed.fullName}`;
  }
  return undefined;
}

function readReport(file: string): JsonReport {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as JsonReport;
  } catch {
    // A run that broke off has none.
    return { numPassedTests: 0, testResults: [] };
  }
}
