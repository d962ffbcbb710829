import type { Condition, RuleProblem } from '../parse-rule-file.ts';
import type { Rule } from '../rule-graph.ts';

/** The content of one path that can be a rule file. */
export type FoundFile = {
  label: string;
  /** Equal for equal content, or for an equal failure. */
  fingerprint: string;
  /** `undefined` where it could not be read. */
  conditions: readonly Condition[] | undefined;
  problems: readonly RuleProblem[];
};

/** The result of a scan of the whole directory. */
export type Scan = {
  /** Keyed by path relative to the label directory, sorted. */
  files: ReadonlyMap<string, FoundFile>;
  /** Directories whose content is unknown, relative, `.` for all, with the reason. */
  unlisted: ReadonlyMap<string, string>;
  /** Problems of paths that are not in `files`. */
  problems: readonly RuleProblem[];
  /** Paths that would be rule files if their names did not end as names of backups do. At most 100. */
  ignored: readonly string[];
};

/** Whether two scans found the same, so that nothing was going on between them. */
export function isSameScan(a: Scan, b: Scan): boolean {
  return essence(a) === essence(b);
}

function essence({ files, unlisted, problems }: Scan): string {
  const found = [...files].map(([file, { fingerprint }]) => [file, fingerprint]);
  return JSON.stringify([found, [...unlisted], problems]);
}

/**
 * The rules after a scan. A file that could not be read or listed keeps its rules from before; if it was never read,
 * its rule has unknown conditions.
 */
export function rulesAfter(scan: Scan, before: readonly Rule[]): Rule[] {
  const known = new Map(before.map((rule) => [rule.file, rule]));
  const rules = new Map<string, Rule>();
  for (const rule of before) if (isOutOfSight(rule.file, scan)) rules.set(rule.file, rule);
  for (const [file, { label, conditions }] of scan.files) {
    rules.set(file, { label, file, conditions: conditions ?? known.get(file)?.conditions });
  }
  return [...rules.values()].sort((a, b) => (a.file < b.file ? -1 : 1));
}

/** Whether rules say the same: a line is its text. */
export function areSame(rules: readonly Rule[], others: readonly Rule[]): boolean {
  return rules.length === others.length && rules.every((rule, index) => isSame(rule, others[index]));
}

function isSame({ file, label, conditions }: Rule, other: Rule | undefined): boolean {
  if (file !== other?.file || label !== other.label) return false;
  if (conditions === other.conditions) return true;
  return (
    conditions?.length === other.conditions?.length &&
    conditions?.every(({ line, text }, index) => {
      const before = other.conditions?.[index];
      return before?.line === line && before.text === text;
    }) === true
  );
}

/** Whether a file may exist but could not be seen. An entry whose type is unknown may be a directory. */
function isOutOfSight(file: string, { files, unlisted }: Scan): boolean {
  const [top = ''] = file.split('/');
  const found = files.get(top);
  return unlisted.has('.') || unlisted.has(top) || (found !== undefined && found.conditions === undefined);
}

/** All that is wrong with the files, sorted by path. */
export function problemsOf({ files, unlisted, problems }: Scan): RuleProblem[] {
  const ofDirectories = [...unlisted].map(([file, fault]): RuleProblem => {
    return { file, problem: `${fault}; labels of the rules in it stay as they are` };
  });
  const all = [...problems, ...ofDirectories, ...[...files.values()].flatMap((file) => file.problems)];
  return all.sort((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : (a.line ?? 0) - (b.line ?? 0)));
}
