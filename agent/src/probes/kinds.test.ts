import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { openLineFor } from './testing/ask-once.ts';

const COSTLY = ['http', 'https', 'http2', 'tls'];

/** Which of the costly modules of Node.js are there once `code` has run. */
function loadedBy(code: string): string[] {
  const program = `
    const { openLineFor } = await import(${JSON.stringify(new URL('./testing/ask-once.ts', import.meta.url))});
    ${code}
    process.stdout.write(JSON.stringify(process.moduleLoadList));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  const loaded = new Set(JSON.parse(output) as string[]);
  return COSTLY.filter((name) => loaded.has(`NativeModule ${name}`));
}

it('a kind loads the modules that it needs when a service is asked by it, and not before', () => {
  expect(loadedBy('')).toEqual([]);
  expect(loadedBy("openLineFor({ kind: 'csi', socket: '/x' })(() => {})")).toEqual([]);
  const ask =
    "await openLineFor({ kind: 'grpc' })(() => {}).ask({ host: '127.0.0.1', port: 1 }, AbortSignal.timeout(5000))";
  expect(loadedBy(ask)).toEqual([]);
});

it.each([
  [{ kind: 'tcp' }, 5],
  [{ kind: 'unix', path: '/x' }, 5],
  [{ kind: 'tls' }, 1],
  [{ kind: 'http2' }, 1],
  [{ kind: 'http' }, 10],
  [{ kind: 'https' }, 10],
  [{ kind: 'grpc' }, 10],
  [{ kind: 'csi', socket: '/x' }, 10],
  [{ kind: 'file', path: '/x' }, 1],
  [{ kind: 'dns' }, 1],
  [{ kind: 'kubernetesService' }, 1],
])('%o is asked over a new connection at least once in %d rounds', (spec, rounds) => {
  expect(openLineFor(spec)(() => {}).freshEveryRounds).toBe(rounds);
});
