import { isLabelKey, isLabelValue } from '@rollcall/common/label-syntax.ts';
import { PredicateProblem, parsePredicate, quoted, Tokens } from '../../model/inventory/parse-predicate.ts';
import type { Predicate } from '../../model/inventory/predicate.ts';

/** A predicate, or that it is not so. */
export type Literal = { predicate: Predicate; isNegated: boolean };

/**
 * One line of a rule file: every literal has to hold. `line` counts from 1; `text` is without comment and outer space.
 */
export type Condition = {
  line: number;
  text: string;
  literals: readonly Literal[];
  /** The value of the label if this line decides. */
  value: string;
};

/** A problem of the rule files: of a file, or of a line in it. */
export type RuleProblem = {
  /** Relative to the label directory. */
  file: string;
  /** Counts from 1; absent where it is about the whole file. */
  line?: number;
  /** Counts from 1; absent where it is about the whole line. */
  column?: number;
  problem: string;
};

export type ParsedRuleFile = { conditions: Condition[]; problems: LineProblem[] };

type LineProblem = { line: number; column?: number; problem: string };

/** Lines of one file that count, blank ones and comments included. */
export const RULE_LINES_MAX = 1000;

/** A file of another kind must not fill the log. */
const LINE_PROBLEMS_MAX = 20;
const LITERALS_MAX = 32;

/** The value of a label whose line names none. */
const DEFAULT_VALUE = 'true';

/**
 * What a rule file says. A line that can never hold is a problem, and the others count. The format is described in
 * packages/docs/how-to/rules.md.
 */
export function parseRuleFile(content: string): ParsedRuleFile {
  const conditions: Condition[] = [];
  const problems: LineProblem[] = [];
  const lines = content.replace(/^\uFEFF/, '').split(/\r\n?|\n/);
  for (const [index, raw] of lines.slice(0, RULE_LINES_MAX).entries()) {
    const text = withoutComment(raw);
    if (text === '') continue;
    const line = index + 1;
    const indent = raw.indexOf(text);
    try {
      conditions.push({ line, text, ...parseLine(text) });
    } catch (err) {
      if (!(err instanceof PredicateProblem)) throw err;
      problems.push({ line, column: indent + err.column, problem: err.message });
    }
  }
  if (lines.slice(RULE_LINES_MAX).some((line) => withoutComment(line) !== '')) {
    const problem = `this line and all that follow are ignored: a file can have at most ${RULE_LINES_MAX} lines`;
    problems.push({ line: RULE_LINES_MAX + 1, problem });
  }
  return { conditions, problems: shortened(problems) };
}

/** `#` is in no key, value or resource name; after white space, or as the first character, it begins a comment. */
function withoutComment(line: string): string {
  const comment = line.search(/(?:^|\s)#/);
  return (comment < 0 ? line : line.slice(0, comment)).trim();
}

/** `[!]TERM && [!]TERM … [=> [VALUE]]`. Throws PredicateProblem. */
function parseLine(text: string): Pick<Condition, 'literals' | 'value'> {
  const tokens = new Tokens(text);
  const literals: Literal[] = [];
  do {
    const isNegated = tokens.takes('!');
    literals.push({ isNegated, predicate: parsePredicate(tokens) });
    if (literals.length > LITERALS_MAX) {
      throw new PredicateProblem(tokens.peek(), `there are more than ${LITERALS_MAX} predicates in the line`);
    }
  } while (tokens.takes('&&'));
  const value = tokens.takes('=>') ? parseResult(tokens) : DEFAULT_VALUE;
  const rest = tokens.peek();
  if (tokens.isAtEnd) return { literals, value };
  throw new PredicateProblem(rest, `${quoted(rest.text)} is not "&&", "=>" or the end of the line`);
}

/** Nothing at all is the empty value, which a label may have. */
function parseResult(tokens: Tokens): string {
  if (tokens.isAtEnd) return '';
  const value = tokens.take();
  if (value.isWord && isLabelValue(value.text)) return value.text;
  throw new PredicateProblem(value, `${quoted(value.text)} is not a label value`);
}

function shortened(problems: LineProblem[]): LineProblem[] {
  const rest = problems[LINE_PROBLEMS_MAX];
  if (!rest) return problems;
  const more = problems.length - LINE_PROBLEMS_MAX;
  return [
    ...problems.slice(0, LINE_PROBLEMS_MAX),
    { line: rest.line, problem: `from this line on, ${more} more lines are ignored because of errors` },
  ];
}

/** Says why rollcall must not set a label, or nothing. */
export type Refuse = (label: string) => string | undefined;

/**
 * The label that a rule file gives, out of its path relative to the label directory, with `/` between the parts:
 * `NAMESPACE/LABEL` and `LABEL` are labels as they are. What cannot be one is told by `problem`.
 */
export function labelOfFile(file: string, refuse: Refuse): { label: string } | { problem: string } {
  if (file.split('/').length > 2) return { problem: 'is too deep: rule files are NAMESPACE/LABEL or LABEL' };
  if (!isLabelKey(file)) return { problem: 'is not a valid label key' };
  const reason = refuse(file);
  return reason === undefined ? { label: file } : { problem: reason };
}
