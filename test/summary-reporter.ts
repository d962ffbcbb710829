import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

const SLOWEST = 10;

type Timed = { name: string; ms: number };

/**
 * Ends the output with what took longest, what failed, and one plain line, `N passed, N failed`, whatever other reporters
 * print. Writes the files with failures to the file that the environment names as `ROLLCALL_FAILED_FILES`, one a line.
 */
export default class SummaryReporter implements Reporter {
  /** From the first file of a project to its last. */
  readonly #spans = new Map<string, { fromMs: number; toMs: number }>();

  onTestModuleStart({ project }: TestModule): void {
    const nowMs = performance.now();
    if (!this.#spans.has(project.name)) this.#spans.set(project.name, { fromMs: nowMs, toMs: nowMs });
  }

  onTestModuleEnd({ project }: TestModule): void {
    const span = this.#spans.get(project.name);
    if (span) span.toMs = performance.now();
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const count = { passed: 0, failed: errors.length, skipped: 0, pending: 0 };
    const files: Timed[] = [];
    const tests: Timed[] = [];
    const failed: string[] = [];
    for (const module of modules) {
      const file = path.relative(process.cwd(), module.moduleId);
      files.push({ name: file, ms: module.diagnostic().duration });
      for (const test of module.children.allTests()) {
        const name = `${file} > ${test.fullName}`;
        count[test.result().state] += 1;
        if (test.result().state === 'failed') failed.push(name);
        tests.push({ name, ms: test.diagnostic()?.duration ?? 0 });
      }
      // A file that could not even be imported has no tests, and must count all the same.
      if (module.errors().length > 0 && module.state() === 'failed') {
        count.failed += 1;
        failed.push(file);
      }
    }
    // biome-ignore lint/style/noProcessEnv: a reporter has no other way to be told
    const list = process.env['ROLLCALL_FAILED_FILES'];
    if (list !== undefined) writeFileSync(list, fileList(failed, errors));
    const projects = [...this.#spans].map(([name, { fromMs, toMs }]) => ({ name, ms: toMs - fromMs }));
    const slowest =
      slowestOf('projects', projects) + slowestOf('files, with what they set up', files) + slowestOf('tests', tests);
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : '';
    const summary = `${count.passed} passed, ${count.failed} failed${skipped}\n`;
    const failures = failed.length > 0 ? `Failed:\n${failed.map((name) => `  ${name}\n`).join('')}\n` : '';
    process.on('exit', () => process.stdout.write(`${slowest}${failures}${summary}`));
  }
}

/** Without lines where there are errors that belong to no file. */
function fileList(failed: readonly string[], errors: readonly unknown[]): string {
  if (errors.length > 0) return '';
  const files = new Set(failed.map((name) => name.split(' > ', 1)[0]));
  return [...files].map((file) => `${file}\n`).join('');
}

function slowestOf(what: string, timed: readonly Timed[]): string {
  const rows = timed.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST);
  const lines = rows.map(({ name, ms }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${name}\n`);
  return `Slowest ${what}:\n${lines.join('')}\n`;
}
