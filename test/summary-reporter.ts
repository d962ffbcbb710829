import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';
import { type Outcome, summaryOf } from './summary.ts';

/**
 * Ends the output with the summary, whatever other reporters print. Where the environment names a file as
 * `ROLLCALL_OUTCOME`, the outcome is written there instead, as JSON, for who adds up several.
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
    const outcome = outcomeOf(modules, errors.length);
    outcome.projects = [...this.#spans].map(([name, { fromMs, toMs }]) => ({ name, ms: toMs - fromMs }));
    // biome-ignore lint/style/noProcessEnv: a reporter has no other way to be told
    const file = process.env['ROLLCALL_OUTCOME'];
    if (file !== undefined) writeFileSync(file, JSON.stringify(outcome));
    else process.on('exit', () => process.stdout.write(summaryOf(outcome)));
  }
}

function outcomeOf(modules: readonly TestModule[], errors: number): Outcome {
  const count = { passed: 0, failed: errors, skipped: 0, pending: 0 };
  const outcome = {
    failures: [] as string[],
    projects: [],
    files: [] as Outcome['files'],
    tests: [] as Outcome['tests'],
  };
  for (const module of modules) {
    const file = path.relative(process.cwd(), module.moduleId);
    outcome.files.push({ name: file, ms: module.diagnostic().duration });
    for (const test of module.children.allTests()) {
      const name = `${file} > ${test.fullName}`;
      count[test.result().state] += 1;
      if (test.result().state === 'failed') outcome.failures.push(name);
      outcome.tests.push({ name, ms: test.diagnostic()?.duration ?? 0 });
    }
    // A file that could not even be imported has no tests, and must count all the same.
    if (module.errors().length > 0 && module.state() === 'failed') {
      count.failed += 1;
      outcome.failures.push(file);
    }
  }
  return { ...outcome, passed: count.passed, failed: count.failed, skipped: count.skipped };
}
