import { describe, expect, test } from 'vitest';
import { CommandFailure, failureText } from './failure.ts';
import { COLORED, toned } from './testing/documents.test-fixtures.ts';
import { kubeConfigFile, runLine } from './testing/run.test-fixtures.ts';

/** What is printed for a line that ends the program at once. */
async function ended(line: readonly string[], columns?: number): Promise<{ text: string; exitCode: number }> {
  let text = '';
  const onPrint = (more: string) => {
    text += more;
  };
  const options = { onPrint, ...(columns === undefined ? {} : { columns }) };
  const error: unknown = await runLine(line, options).catch((cause: unknown) => cause);
  expect(error).toMatchObject({ exitCode: expect.any(Number) });
  return { text, exitCode: (error as { exitCode: number }).exitCode };
}

describe('help', () => {
  test('of the program is what it has, and its exit codes', async () => {
    const { text, exitCode } = await ended(['--help']);
    expect(exitCode).toBe(0);
    expect(text).toMatch(/^Usage: kubectl rollcall /);
    for (const command of ['status', 'why', 'audit', 'check', 'diff', 'console'])
      expect(text).toMatch(`\n  ${command} `);
    expect(text).not.toMatch(/^ {2}help /m);
    expect(text).toContain(
      'Exit codes: 0 everything is as it should be; 1 something is not; 2 the command line is wrong; 3 the state is unknown.',
    );
  });

  test('is as wide as the terminal', async () => {
    const widest = async (columns: number) => {
      const [flags = ''] = (await ended(['status', '--help'], columns)).text.split('Examples:');
      return Math.max(...flags.split('\n').map((line) => line.length));
    };
    expect(await widest(90)).toBeLessThanOrEqual(90);
    expect(await widest(200)).toBeGreaterThan(90);
  });

  test('of a command has examples, and the flags of all commands', async () => {
    const { text } = await ended(['why', '--help']);
    expect(text).toContain('\nExamples:\n  kubectl rollcall why node/node-1\n');
    expect(text).toContain('--console-url');
    expect(text).toContain('(default: "rollcall")');
  });

  test('of check names no console, as it asks none', async () => {
    expect((await ended(['check', '--help'])).text).not.toContain('--console-url');
  });
});

describe('a command line', () => {
  test('that is wrong is an error with where the help is', async () => {
    await expect(runLine(['status', '--none'])).rejects.toMatchObject({ code: 'commander.unknownOption' });
    await expect(runLine(['diff'])).rejects.toMatchObject({ code: 'commander.missingMandatoryOptionValue' });
    await expect(runLine(['status', '-o', 'xml'])).rejects.toMatchObject({ code: 'commander.invalidArgument' });
  });

  test.each([
    ['status', '--wait=soon', 'Use a duration such as 90s, 5m or 1h.'],
    ['console', '--port=65536', 'Use a number from 0 to 65535.'],
    ['console', '--port=1e3', 'Use a number from 0 to 65535.'],
    ['status', '--console-url=https://127.0.0.1:1', 'Use http://HOST:PORT.'],
    ['status', '--console-url=host', 'Use http://HOST:PORT.'],
  ])('%s %s is refused', async (command, flag, message) => {
    await expect(runLine([command, flag])).rejects.toThrow(message);
  });

  test('may name the last port there is', async () => {
    await expect(runLine(['console', '--port=65535', '--kubeconfig=/nonexistent'])).rejects.toThrow(
      'The kubeconfig cannot be read',
    );
  });

  test('may name a context, which has to be there', async () => {
    const kubeconfig = await kubeConfigFile({});
    await expect(runLine(['status', `--kubeconfig=${kubeconfig}`, '--context=none'])).rejects.toThrow(
      'There is no context none',
    );
  });
});

describe('a failure', () => {
  test('is printed with what helps, as text that can move no cursor', () => {
    expect(toned(failureText(new CommandFailure('It fails\u0007', 'mend\u0007 it'), COLORED))).toBe(
      '<bad>It fails\\u{7}.</>\n<quiet>fix: mend\\u{7} it</>\n',
    );
  });

  test('has the exit code of the unknown, unless it is told another', () => {
    const cause = new Error('why');
    expect(new CommandFailure('a', 'b', { cause })).toMatchObject({ name: 'CommandFailure', exitCode: 3, cause });
    expect(new CommandFailure('a', 'b', { exitCode: 1 }).exitCode).toBe(1);
  });
});
