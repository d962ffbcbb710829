import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Clock, sleep } from '@rollcall/common/clock.ts';
import { configInvalid } from '@rollcall/common/config/load.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { KUBELET_LABELS, KUBERNETES_DOMAINS, reservedDomainOf } from '@rollcall/common/reserved-domains.ts';
import { Slices } from '@rollcall/common/slices.ts';
import type { CoordinatorConfig } from '../../../model/config.ts';
import type { KeyRegistry } from '../../../model/keys/key-registry.ts';
import { labelOfFile, parseRuleFile, type Refuse, type RuleProblem } from '../parse-rule-file.ts';
import type { Rule } from '../rule-graph.ts';
import { type RefuseLine, RuleSet } from '../rule-set.ts';
import { areSame, isSameScan, problemsOf, rulesAfter, type Scan } from './scan.ts';
import { RULE_FILE_BYTES_MAX, TOO_LARGE, TreeReader } from './tree-reader.ts';

/** Reads the rules of `--label-dir`, if there is one. Throws CONFIG_INVALID when it cannot be listed. */
export async function openRules(
  config: Pick<CoordinatorConfig, 'labelDir' | 'rulesAllowedPrefixes'>,
  { keys, ...options }: { keys: KeyRegistry; clock: Clock; logger: Logger },
): Promise<RuleDirectory | undefined> {
  const { labelDir, rulesAllowedPrefixes: allowedPrefixes } = config;
  if (labelDir === undefined) return undefined;
  const refuse = (label: string) => ruleLabelProblem(label, { keys, allowedPrefixes });
  return RuleDirectory.open({ path: labelDir, refuse, ...options });
}

/**
 * Says why a rule may not create this label, or nothing. `allowedPrefixes` are what its key has to begin with; without
 * any, every label is allowed outside the domains of Kubernetes. What rollcall sets for other reasons, what kubelets
 * set, and what says what a node is, is nothing for rules in any case.
 */
export function ruleLabelProblem(
  label: string,
  { keys, allowedPrefixes }: { keys: KeyRegistry; allowedPrefixes: readonly string[] },
): string | undefined {
  const refusal = keys.refusal('rule', 'label', label);
  if (refusal !== undefined) return refusal;
  if (KUBELET_LABELS.includes(label)) return 'is set by the kubelet or the cloud provider';
  if (allowedPrefixes.length > 0) {
    if (allowedPrefixes.some((prefix) => label.startsWith(prefix))) return undefined;
    return `does not begin with one of rules.allowedPrefixes (${allowedPrefixes.join(', ')})`;
  }
  const domain = reservedDomainOf(label, KUBERNETES_DOMAINS);
  if (domain === undefined) return undefined;
  return `is in the reserved domain ${domain}, and not in rules.allowedPrefixes; set --rules-allowed-prefixes to the prefixes of all rules, this one included`;
}

export type RuleDirectoryOptions = {
  /** The label directory as given: relative, a link, or with a slash at its end. */
  path: string;
  /** Why a label must not be set by a rule. */
  refuse: Refuse;
  clock: Clock;
  logger: Logger;
};

/** How often all files are read. The notifications of file systems get lost, and some have none. */
const POLL_MS = 2000;

/** How long a change has to stay as it is: an edit, or a swap, is several steps. */
const STABLE_MS = 100;

/** A directory that never comes to rest is taken as it is after so many scans. */
const SCANS_MAX = 30;

const LOGGED_PROBLEMS_MAX = 10;

const IGNORED = 'is ignored, since its name ends as names of backups and temporary files do; rename it to use it';

/** The rules in a label directory, kept up to date while it changes. */
export class RuleDirectory {
  readonly #options: RuleDirectoryOptions;
  readonly #reader: TreeReader;
  #accepted: Scan;
  #rules: Rule[];
  #files: RuleSet;
  #ruleSet: RuleSet;
  #refuseLine: RefuseLine = () => undefined;
  #problems: readonly RuleProblem[] = [];
  readonly #loggedIgnored = new Set<string>();

  /** Reads everything once. Throws CONFIG_INVALID when the directory, or one in it, cannot be listed. */
  static async open(options: RuleDirectoryOptions): Promise<RuleDirectory> {
    const reader = new TreeReader(resolve(options.path), options.refuse);
    const scan = await reader.scan();
    const [unlisted] = scan.unlisted;
    if (unlisted) {
      const [directory, problem] = unlisted;
      throw configInvalid(
        '--label-dir',
        `${directory === '.' ? options.path : `${options.path}/${directory}`} ${problem}`,
      );
    }
    const rules = rulesAfter(scan, []);
    return new RuleDirectory(options, { reader, scan, rules, ruleSet: await new Slices().run(RuleSet.build(rules)) });
  }

  private constructor(
    options: RuleDirectoryOptions,
    { reader, scan, rules, ruleSet }: { reader: TreeReader; scan: Scan; rules: Rule[]; ruleSet: RuleSet },
  ) {
    this.#options = options;
    this.#reader = reader;
    this.#accepted = scan;
    this.#rules = rules;
    this.#files = ruleSet;
    this.#ruleSet = ruleSet;
    this.#report();
    this.#reportIgnored();
  }

  /** The rules that are in force. */
  get ruleSet(): RuleSet {
    return this.#ruleSet;
  }

  /** All rules of the files, those included that are refused because of others. */
  get files(): RuleSet {
    return this.#files;
  }

  /** Takes lines out of force that others stand in the way of. Returns whether other rules are in force than before. */
  refuse(refuseLine: RefuseLine): boolean {
    this.#refuseLine = refuseLine;
    const next = this.#files.without(refuseLine);
    const isAsBefore = areSame(next.rules, this.#ruleSet.rules);
    if (!isAsBefore) this.#ruleSet = next;
    this.#report();
    return !isAsBefore;
  }

  #refused(): RuleProblem[] {
    return this.#files.rules.flatMap((rule) =>
      (rule.conditions ?? []).flatMap((condition) => {
        const problem = this.#refuseLine(rule, condition);
        return problem === undefined ? [] : [{ file: rule.file, line: condition.line, problem }];
      }),
    );
  }

  /** The problems of the files now, sorted by path. */
  problems(): readonly RuleProblem[] {
    return this.#problems;
  }

  /** Files that would be rules by another name, each with the reason. They are no problems of rules. */
  ignored(): readonly RuleProblem[] {
    return this.#accepted.ignored.map((file) => ({ file, problem: IGNORED }));
  }

  /** The rules with files of this content, by their path relative to the directory, and what is wrong with those. */
  async propose(
    files: Readonly<Record<string, string>>,
    slices: Slices,
  ): Promise<{ ruleSet: RuleSet; problems: RuleProblem[] }> {
    const rules = new Map(this.#rules.map((rule) => [rule.file, rule]));
    const problems: RuleProblem[] = [];
    for (const [file, content] of Object.entries(files)) {
      await slices.pause();
      const found = labelOfFile(file, this.#options.refuse);
      if ('problem' in found) {
        problems.push({ file, problem: found.problem });
        continue;
      }
      if (Buffer.byteLength(content) > RULE_FILE_BYTES_MAX) {
        problems.push({ file, problem: TOO_LARGE });
        continue;
      }
      const parsed = parseRuleFile(content);
      problems.push(...parsed.problems.map((problem) => ({ file, ...problem })));
      rules.set(file, { label: found.label, file, conditions: parsed.conditions });
    }
    const ruleSet = await slices.run(RuleSet.build(rules.values()));
    const known = new Set(this.#ruleSet.problems.map(({ file, problem }) => `${file}: ${problem}`));
    const isNew = ({ file, problem }: RuleProblem) => !known.has(`${file}: ${problem}`);
    return { ruleSet, problems: [...problems, ...ruleSet.problems.filter(isNew)] };
  }

  /** Follows the directory until the signal aborts, and then ends at once. Calls back only when a rule has changed. */
  async run(signal: AbortSignal, onChange: (rules: RuleSet) => void): Promise<void> {
    if (signal.aborted) return;
    // A scan may hang with its file system.
    const aborted = new Promise<void>((done) => signal.addEventListener('abort', () => done(), { once: true }));
    await Promise.race([this.#follow(signal, onChange), aborted]);
  }

  async #follow(signal: AbortSignal, onChange: (rules: RuleSet) => void): Promise<void> {
    while (!signal.aborted) {
      const scan = await this.#stableScan(signal);
      if (signal.aborted) return;
      if (!isSameScan(scan, this.#accepted)) await this.#accept(scan, onChange);
      else this.#accepted = scan;
      this.#reportIgnored();
      await sleep(this.#options.clock, POLL_MS, signal);
    }
  }

  /** A scan that found what was accepted before, or the same as the one before it. */
  async #stableScan(signal: AbortSignal): Promise<Scan> {
    let before = this.#accepted;
    let scan = await this.#reader.scan();
    for (let scans = 1; scans < SCANS_MAX && !isSameScan(scan, before); scans += 1) {
      await sleep(this.#options.clock, STABLE_MS, signal);
      if (signal.aborted) break;
      before = scan;
      scan = await this.#reader.scan();
    }
    return scan;
  }

  async #accept(scan: Scan, onChange: (rules: RuleSet) => void): Promise<void> {
    const rules = rulesAfter(scan, this.#rules);
    const isChanged = !areSame(rules, this.#rules);
    const ruleSet = isChanged ? await new Slices().run(RuleSet.build(rules)) : this.#files;
    this.#accepted = scan;
    if (isChanged) {
      this.#rules = rules;
      this.#files = ruleSet;
      this.#ruleSet = ruleSet;
      this.#options.logger.info({ rules: rules.length }, 'Took over changed rule files');
    }
    this.#report();
    if (isChanged) onChange(this.#ruleSet);
  }

  /** Logs each file once. */
  #reportIgnored(): void {
    const files = this.#accepted.ignored.filter((file) => !this.#loggedIgnored.has(file));
    for (const file of files) this.#loggedIgnored.add(file);
    if (files.length > 0) this.#options.logger.warn({ files }, 'Ignored rule files because of their names');
  }

  #report(): void {
    const problems = [...problemsOf(this.#accepted), ...this.#ruleSet.problems, ...this.#refused()];
    if (isDeepStrictEqual(problems, this.#problems)) return;
    this.#problems = problems;
    const { logger } = this.#options;
    const shown = problems.slice(0, LOGGED_PROBLEMS_MAX);
    if (problems.length > 0) logger.warn({ count: problems.length, problems: shown }, 'Found problems in rule files');
    else logger.info('Found no more problems in rule files');
  }
}
