import { expect, test } from 'vitest';
import { type Finding, printFindings } from './findings.ts';
import { COLORED, toned } from './testing/documents.test-fixtures.ts';
import { Page } from './text/page.ts';

test('failures are printed before warnings, each in its tone and with its cure below', () => {
  const findings: Finding[] = [
    { severity: 'warn', text: 'may be meant', cure: 'look' },
    { severity: 'fail', text: 'is not as it should be', cure: 'mend it' },
  ];
  const page = new Page(COLORED);
  printFindings(page, findings);
  expect(toned(page.text)).toBe(
    [
      '<quiet>fail  </><bad>is not as it should be</>',
      '      <quiet>fix: mend it</>',
      '<quiet>warn  </><doubtful>may be meant</>',
      '      <quiet>fix: look</>',
      '',
    ].join('\n'),
  );
});
