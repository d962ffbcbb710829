import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

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
  expect(loadedBy(ask)).toContain('http2');
});
