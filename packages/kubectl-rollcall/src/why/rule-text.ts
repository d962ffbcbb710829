import type { RuleOnNodeDocument } from '@rollcall/common/console.ts';
import { Page, type Terminal } from '../text/page.ts';

const TONES = { yes: 'good', no: 'bad', unknown: 'doubtful' } as const;
const WORDS = { yes: 'holds', no: 'does not hold', unknown: 'is unknown' } as const;

/** Why a rule does not set its label on a node, line by line. */
export function whyRuleText({ label, node, file, lines }: RuleOnNodeDocument, terminal: Terminal): string {
  const page = new Page(terminal);
  const isUnknown = lines.some(({ truth }) => truth === 'unknown');
  const why = lines.length === 0 ? 'its file has no lines' : isUnknown ? 'a line is unknown' : 'no line holds';
  page.line(`node/${node} does not get the label ${label} by the rule file ${file}: ${why}.`, { tone: 'bad' }).line();
  for (const { line, text, truth, found, left } of lines) {
    page.field(`line ${line}`, text, { tone: 'strong' });
    page.field('', `${WORDS[truth]}: ${found}`, { tone: TONES[truth] });
    if (left !== undefined) page.field('', left, { tone: 'doubtful' });
  }
  return page.text;
}
