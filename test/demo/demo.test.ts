import type { ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { exitOf, killChild, spawnChild } from '../control-plane/child.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { httpGet } from '../rig/http-get.ts';

const MAIN = path.join(import.meta.dirname, 'main.ts');

let child: ChildProcess | undefined;
afterEach(async () => {
  if (child) await killChild(child);
});

/** Starts the demo, by a shell that stays between when `byShell` is set, and collects what it prints. */
function startDemo(options: { args?: string[]; byShell?: boolean } = {}): { demo: ChildProcess; text: () => string } {
  const { args = [], byShell = false } = options;
  const demo = byShell
    ? spawnChild('sh', { args: ['-c', `"${process.execPath}" "${MAIN}"; true`] })
    : spawnChild(process.execPath, { args: [MAIN, ...args] });
  child = demo;
  let output = '';
  for (const stream of [demo.stdout, demo.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  return { demo, text: () => output };
}

/** Every process whose command line names the directory. */
function processesOf(dir: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return commandLine.includes(dir) ? [commandLine] : [];
      } catch {
        return [];
      }
    });
}

async function directoryOf(text: () => string): Promise<string> {
  const find = () => /--kubeconfig (\S+)\/admin\.kubeconfig/.exec(text())?.[1];
  const dir = await waitFor('the demo to be set', find, { timeoutMs: 60_000 });
  expect(processesOf(dir).length).toBeGreaterThan(1);
  return dir;
}

async function nothingLeft(dir: string): Promise<void> {
  await waitFor('every process to be gone', () => processesOf(dir).length === 0);
  await waitFor('the directory to be gone', () => !existsSync(dir));
}

async function stopsOn(signal: 'SIGINT' | 'SIGTERM', demo: ChildProcess, dir: string): Promise<void> {
  demo.kill(signal);
  await exitOf(demo);
  expect(demo.exitCode).toBe(0);
  await nothingLeft(dir);
}

test('the tour sees every label come and go, and exits with 0', { timeout: 180_000 }, async () => {
  const { demo, text } = startDemo({ args: ['--once'] });
  await exitOf(demo);
  expect(text()).not.toContain('FAIL');
  expect(text().match(/ ok {3}\d\/7 /g)).toHaveLength(7);
  expect(demo.exitCode).toBe(0);
});

test('prints the address of the page of its own cluster; SIGINT stops everything and leaves nothing behind', {
  timeout: 90_000,
}, async () => {
  const { demo, text } = startDemo();
  const dir = await directoryOf(text);
  const find = () => /watch it in a browser: (http:\S+)/.exec(text())?.[1];
  const url = await waitFor('the address', find, { timeoutMs: 60_000 });
  expect(await httpGet(url)).toMatchObject({ status: 200, body: expect.stringContaining('<!doctype html>') });
  const nodes = async () => (await httpGet(`${url}v1/nodes`)).body;
  await waitFor('the nodes of the demo', async () => (await nodes()).includes('"name":"node-4"'));
  await stopsOn('SIGINT', demo, dir);
});

test('SIGTERM stops everything and leaves nothing behind', { timeout: 90_000 }, async () => {
  const { demo, text } = startDemo();
  await stopsOn('SIGTERM', demo, await directoryOf(text));
});

test('the end of the process that started it stops everything and leaves nothing behind', {
  timeout: 90_000,
}, async () => {
  const { demo, text } = startDemo({ byShell: true });
  const dir = await directoryOf(text);
  demo.kill('SIGKILL');
  await nothingLeft(dir);
});

test('a wrong flag is told with the usage, and exits with 2', async () => {
  const { demo, text } = startDemo({ args: ['--onse'] });
  await exitOf(demo);
  expect(demo.exitCode).toBe(2);
  expect(text()).toContain('--onse');
});
