/** What a run of tests ended with, and the lines that say so. */

const SLOWEST = 10;

type Timed = { name: string; ms: number };

export type Outcome = {
  passed: number;
  /** With errors that belong to no test. */
  failed: number;
  skipped: number;
  /** `file > test`, or a file that could not be imported. */
  failures: string[];
  projects: Timed[];
  files: Timed[];
  tests: Timed[];
};

/** Merges the outcomes of concurrent runs. */
export function merged(outcomes: readonly Outcome[]): Outcome {
  const total = (of: (outcome: Outcome) => number) => outcomes.reduce((sum, outcome) => sum + of(outcome), 0);
  return {
    passed: total(({ passed }) => passed),
    failed: total(({ failed }) => failed),
    skipped: total(({ skipped }) => skipped),
    failures: outcomes.flatMap(({ failures }) => failures),
    projects: outcomes.flatMap(({ projects }) => projects),
    files: outcomes.flatMap(({ files }) => files),
    tests: outcomes.flatMap(({ tests }) => tests),
  };
}

/** What took longest, what failed, and one plain line, `N passed, N failed`. */
export function summaryOf({ passed, failed, skipped, failures, projects, files, tests }: Outcome): string {
  const slowest =
    slowestOf('projects', projects) + slowestOf('files, with what they set up', files) + slowestOf('tests', tests);
  const list = failures.length > 0 ? `Failed:\n${failures.map((name) => `  ${name}\n`).join('')}\n` : '';
  return `${slowest}${list}${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`;
}

/** The files with failures, one a line; none where there are failures that belong to no file. */
export function failedFiles({ failed, failures }: Outcome): string {
  if (failed > failures.length) return '';
  const files = new Set(failures.map((name) => name.split(' > ', 1)[0]));
  return [...files].map((file) => `${file}\n`).join('');
}

function slowestOf(what: string, timed: readonly Timed[]): string {
  const rows = timed.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST);
  const lines = rows.map(({ name, ms }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${name}\n`);
  return `Slowest ${what}:\n${lines.join('')}\n`;
}
