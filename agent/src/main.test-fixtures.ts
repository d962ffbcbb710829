import { type ChildProcess, spawn } from 'node:child_process';
import { get } from 'node:http';
import path from 'node:path';
import { expect, vi } from 'vitest';

const MAIN = path.join(import.meta.dirname, 'main.ts');
/** Many agents are started from their source, which Node.js need not compile for each of them. */
const COMPILED = path.resolve(import.meta.dirname, '../../node_modules/.cache/compiled');
const LIMIT = { timeout: 20_000, interval: 10 };

type LogLine = Record<string, unknown> & { msg: string };
/** An agent in a process of its own. */
export type AgentProcess = {
  child: ChildProcess;
  lines: () => LogLine[];
  stderr: () => string;
  exit: Promise<{ code: number | null; ms: number }>;
};

/** Starts the agent from source; the caller must end it. */
export function startAgentProcess(argv: readonly string[], stdout: 'pipe' | number = 'pipe'): AgentProcess {
  const child = spawn(process.execPath, [MAIN, ...argv], {
    env: { NODE_COMPILE_CACHE: COMPILED },
    stdio: ['ignore', stdout, 'pipe'],
  });
  const startMs = performance.now();
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (chunk: string) => {
      text[name] += chunk;
    });
  }
  const exit = new Promise<{ code: number | null; ms: number }>((resolve) => {
    child.on('close', (code) => resolve({ code, ms: performance.now() - startMs }));
  });
  const lines = () =>
    text.stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as LogLine);
  return { child, lines, stderr: () => text.stderr, exit };
}

export function until<T>(check: () => T): Promise<T> {
  return vi.waitFor(check, LIMIT);
}

/** The URL of /healthz, /readyz and /metrics, once they are served. */
export async function listenAddress(agent: AgentProcess): Promise<string> {
  const started = await until(() => {
    const line = agent.lines().find(({ msg }) => msg === 'Started');
    expect(line).toBeDefined();
    return line;
  });
  return String(started?.['listen']);
}

export function httpGet(url: string): Promise<{ status: number | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode, body }));
    }).on('error', reject);
  });
}
