import { describe, expect, test } from 'vitest';
import type { Finding } from '../findings.ts';
import { COLORED, toned } from '../testing/documents.test-fixtures.ts';
import { runChecks } from './check.ts';
import { checkReport, checkText } from './check-text.ts';
import { evidence } from './evidence.test-fixtures.ts';
import { Unread } from './evidence.ts';

const fail: Finding = { severity: 'fail', text: 'f', cure: 'x' };
const warn: Finding = { severity: 'warn', text: 'w', cure: 'y' };
const well = { well: 'a' };

describe('the report', () => {
  const answer = (findings: Finding[], isPre: boolean) => checkReport([{ findings }], isPre).answer;

  test('is that all is well, or how much is to be fixed', () => {
    expect(answer([], false)).toBe('Rollcall is installed correctly.');
    expect(answer([], true)).toBe('You can install rollcall.');
    expect(answer([fail], false)).toBe('1 problem to fix.');
    expect(answer([fail, fail], true)).toBe('2 problems to fix before you install rollcall.');
  });

  test('names warnings beside', () => {
    expect(answer([warn], false)).toBe('Rollcall is installed correctly; 1 warning.');
    expect(answer([fail, warn, warn], false)).toBe('1 problem to fix; 2 warnings.');
  });

  test('is well without failures, and keeps what was found in its order', () => {
    expect(checkReport([well, { findings: [warn] }, { well: 'b' }], false)).toMatchObject({
      isWell: true,
      well: ['a', 'b'],
      findings: [warn],
    });
    expect(checkReport([{ findings: [fail] }], false).isWell).toBe(false);
  });
});

describe('the text', () => {
  const of = (...results: Parameters<typeof checkReport>[0]) => toned(checkText(checkReport(results, false), COLORED));

  test('is the answer, then what is well', () => {
    expect(of(well)).toBe('<good>Rollcall is installed correctly.</>\n\n<quiet>ok    </><quiet>a</>\n');
  });

  test('has the findings between', () => {
    expect(of(well, { findings: [warn] })).toBe(
      '<doubtful>Rollcall is installed correctly; 1 warning.</>\n\n<quiet>warn  </><doubtful>w</>\n      <quiet>fix: y</>\n\n<quiet>ok    </><quiet>a</>\n',
    );
  });

  test('ends with the findings where nothing is well', () => {
    expect(of({ findings: [fail] })).toBe(
      '<bad>1 problem to fix.</>\n\n<quiet>fail  </><bad>f</>\n      <quiet>fix: x</>\n',
    );
  });
});

describe('checks', () => {
  const thrown = (error: Error) =>
    runChecks(
      [
        () => {
          throw error;
        },
        () => well,
      ],
      evidence(),
    );

  test('run one after the other, all of them', async () => {
    expect(await runChecks([async () => well, () => ({ findings: [warn] })], evidence())).toEqual([
      well,
      { findings: [warn] },
    ]);
  });

  test('that may not read something say so, and do not keep the others from running', async () => {
    expect(await thrown(new Unread({ missing: false, problem: 'no' }))).toEqual([
      {
        findings: [
          {
            severity: 'warn',
            text: 'Cannot check everything: no',
            cure: 'ask for this right, or run the check with an account that has it',
          },
        ],
      },
      well,
    ]);
  });

  test('say nothing of what is not there', async () => {
    expect(await thrown(new Unread({ missing: true, problem: 'no' }))).toEqual([{ findings: [] }, well]);
  });

  test('that fail otherwise are an error', async () => {
    await expect(thrown(new Error('a defect'))).rejects.toThrow('a defect');
  });
});
