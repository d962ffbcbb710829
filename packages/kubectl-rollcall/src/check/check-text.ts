import type { Finding } from '../findings.ts';
import { printFindings } from '../findings.ts';
import { count } from '../text/count.ts';
import { Page, type Terminal } from '../text/page.ts';
import type { Result } from './check.ts';

export type CheckReport = { isWell: boolean; answer: string; well: readonly string[]; findings: readonly Finding[] };

export function checkReport(results: readonly Result[], isPre: boolean): CheckReport {
  const well = results.flatMap((result) => ('well' in result ? [result.well] : []));
  const findings = results.flatMap((result) => ('findings' in result ? result.findings : []));
  const failures = findings.filter(({ severity }) => severity === 'fail').length;
  const warnings = findings.length - failures;
  const what = isPre ? 'you can install rollcall' : 'rollcall is installed correctly';
  const also = warnings > 0 ? `; ${count(warnings, 'warning')}` : '';
  const answer =
    failures > 0
      ? `${count(failures, 'problem')} to fix${isPre ? ' before you install rollcall' : ''}${also}.`
      : `${what}${also}.`;
  return { isWell: failures === 0, answer: answer.charAt(0).toUpperCase() + answer.slice(1), well, findings };
}

export function checkText({ isWell, answer, well, findings }: CheckReport, terminal: Terminal): string {
  const page = new Page(terminal);
  page.line(answer, { tone: isWell ? (findings.length > 0 ? 'doubtful' : 'good') : 'bad' }).line();
  printFindings(page, findings);
  if (findings.length > 0 && well.length > 0) page.line();
  for (const text of well) page.field('ok', text, { tone: 'quiet', width: 6 });
  return page.text;
}
