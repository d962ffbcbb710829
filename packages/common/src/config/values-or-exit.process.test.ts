import { execFile } from 'node:child_process';
import path from 'node:path';
import { describe, expect, test } from 'vitest';

type Ended = { code: unknown; stdout: string; stderr: string };

/** Runs a program whose loading is this expression, and which says "ran" with the values that it gets. */
function run(load: string): Promise<Ended> {
  const file = (name: string) => JSON.stringify(path.join(import.meta.dirname, name));
  const source = `
    import { valuesOrExit } from ${file('values-or-exit.ts')};
    import { configInvalid } from ${file('load.ts')};
    const values = await valuesOrExit('tester', async () => ${load});
    process.stdout.write('ran with ' + values);
  `;
  return new Promise((resolve) => {
    execFile(process.execPath, ['--input-type=module-typescript', '--eval', source], (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
}

describe('valuesOrExit', () => {
  test('gives the values when there is something to run', async () => {
    expect(await run(`({ action: 'run', values: 7 })`)).toEqual({ code: 0, stdout: 'ran with 7', stderr: '' });
  });

  test('prints what was asked for, all of it, and exits with 0', async () => {
    const { code, stdout } = await run(`({ action: 'print', text: 'x'.repeat(200_000) })`);
    expect(code).toBe(0);
    expect(stdout).toBe('x'.repeat(200_000));
  });

  test('exits with 2 and one line when the configuration is wrong', async () => {
    const ended = await run(`{ throw configInvalid('--name', 'must not be "a\\nb"') }`);
    expect(ended).toEqual({ code: 2, stdout: '', stderr: 'tester: --name: must not be "a b"\n' });
  });

  test('does not take a mistake of the program for one of the configuration', async () => {
    const { code, stderr } = await run(`{ throw new TypeError('oops') }`);
    expect(code).toBe(1);
    expect(stderr).toContain('TypeError: oops');
  });
});
