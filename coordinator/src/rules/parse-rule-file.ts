import { isLabelKey, isLabelValue } from '@rollcall/common/label-syntax.ts';
import type { Condition, LabelCondition, ResourceCondition } from './condition.ts';
import { canMatch } from './glob.ts';

export type ParsedRuleFile = { conditions: Condition[]; problems: LineProblem[] };

type LineProblem = { line: number; problem: string };

/** Lines of one file that count, blank ones and comments included. */
export const RULE_LINES_MAX = 1000;

/** A file of another kind must not fill the log. */
const LINE_PROBLEMS_MAX = 20;
const QUOTED_LENGTH_MAX = 80;

const RESOURCE_PREFIX = 'resource:';

/**
 * What a rule file says. A line that can never hold is a problem, and the others count. The format is described in
 * README.md.
 */
export function parseRuleFile(content: string): ParsedRuleFile {
  const conditions: Condition[] = [];
  const problems: LineProblem[] = [];
  const lines = content.replace(/^\uFEFF/, '').split(/\r\n?|\n/);
  for (const [index, raw] of lines.slice(0, RULE_LINES_MAX).entries()) {
    const text = withoutComment(raw);
    if (text === '') continue;
    const line = index + 1;
    const parsed = parseLine(text);
    if (typeof parsed === 'string') problems.push({ line, problem: parsed });
    else conditions.push({ line, text, ...parsed });
  }
  if (lines.length > RULE_LINES_MAX && lines.slice(RULE_LINES_MAX).some((line) => withoutComment(line) !== '')) {
    const problem = `this line and what follows is left out: no more than ${RULE_LINES_MAX} lines count`;
    problems.push({ line: RULE_LINES_MAX + 1, problem });
  }
  return { conditions, problems: shortened(problems) };
}

/** `#` is in no key, value or resource name; after white space, or as the first character, it begins a comment. */
function withoutComment(line: string): string {
  const comment = line.search(/(?:^|\s)#/);
  return (comment < 0 ? line : line.slice(0, comment)).trim();
}

/** A condition, or what is wrong. */
function parseLine(text: string): LabelCondition | ResourceCondition | string {
  if (text.startsWith(RESOURCE_PREFIX)) {
    const name = text.slice(RESOURCE_PREFIX.length).trim();
    return isLabelKey(name) ? { kind: 'resource', name } : `${quoted(name)} is not the name of a resource`;
  }
  const equals = text.indexOf('=');
  const key = collapsed(equals < 0 ? text : text.slice(0, equals).trim());
  if (!canMatch(key, isLabelKey)) return `${quoted(key)} is not a label key, nor a pattern that one could match`;
  if (equals < 0) return { kind: 'label', key, value: undefined };
  const value = collapsed(text.slice(equals + 1).trim());
  if (canMatch(value, isLabelValue)) return { kind: 'label', key, value };
  return `${quoted(value)} is not a label value, nor a pattern that one could match`;
}

function collapsed(pattern: string): string {
  return pattern.replace(/\*+/g, '*');
}

function quoted(text: string): string {
  const cut = text.length > QUOTED_LENGTH_MAX ? `${text.slice(0, QUOTED_LENGTH_MAX)}…` : text;
  return JSON.stringify(cut);
}

function shortened(problems: LineProblem[]): LineProblem[] {
  const rest = problems[LINE_PROBLEMS_MAX];
  if (!rest) return problems;
  const more = problems.length - LINE_PROBLEMS_MAX;
  return [
    ...problems.slice(0, LINE_PROBLEMS_MAX),
    { line: rest.line, problem: `here and below, ${more} more lines are left out for what is wrong with them` },
  ];
}
