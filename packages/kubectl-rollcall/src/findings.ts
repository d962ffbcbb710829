import type { Page } from './text/page.ts';

/** `fail`: something is not as it should be. `warn`: it may be meant. */
type Severity = 'fail' | 'warn';

/** Something that a person should know, and what to do about it. */
export type Finding = { severity: Severity; text: string; cure: string };

const TONES = { fail: 'bad', warn: 'doubtful' } as const;

/** The worst first. */
export function printFindings(page: Page, findings: readonly Finding[]): void {
  for (const severity of ['fail', 'warn'] as const) {
    for (const { text, cure } of findings.filter((each) => each.severity === severity)) {
      page.field(severity, text, { tone: TONES[severity], width: 6 });
      page.cure(cure, 6);
    }
  }
}
