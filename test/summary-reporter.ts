import path from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

const SLOWEST = 10;

type Timed = { name: string; ms: number };

/** Ends the output with what took longest, and one plain line, `N passed, N failed`, whatever other reporters print. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const count = { passed: 0, failed: errors.length, skipped: 0, pending: 0 };
    const files: Timed[] = [];
    const tests: Timed[] = [];
    for (const module of modules) {
      const file = path.relative(process.cwd(), module.moduleId);
      files.push({ name: file, ms: module.diagnostic().duration });
      for (const test of module.children.allTests()) {
        count[test.result().state] += 1;
        tests.push({ name: `${file} > ${test.fullName}`, ms: test.diagnostic()?.duration ?? 0 });
      }
      // A file that could not even be imported has no tests, and must count all the same.
      if (module.errors().length > 0 && module.state() === 'failed') count.failed += 1;
    }
    const slowest = slowestOf('files, with what they set up', files) + slowestOf('tests', tests);
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : '';
    const summary = `${count.passed} passed, ${count.failed} failed${skipped}\n`;
    process.on('exit', () => process.stdout.write(`${slowest}${summary}`));
  }
}

function slowestOf(what: string, timed: readonly Timed[]): string {
  const rows = timed.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST);
  const lines = rows.map(({ name, ms }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${name}\n`);
  return `Slowest ${what}:\n${lines.join('')}\n`;
}
