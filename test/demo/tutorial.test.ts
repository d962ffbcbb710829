import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { killChild, spawnChild } from '../control-plane/child.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { commandsOf } from './tutorial-page.ts';

const MAIN = path.join(import.meta.dirname, 'main.ts');
const LABEL = 'service.rollcall.dev/mirror';

let demo: ReturnType<typeof spawnChild>;
let dir: string;
let env: string;

beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'rollcall-tutorial-'));
  demo = spawnChild(process.execPath, { args: [MAIN] });
  let output = '';
  for (const stream of [demo.stdout, demo.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  const find = () => / in another terminal: \. (\S+)/.exec(output)?.[1];
  env = await waitFor('the demo to be set', find, { timeoutMs: 170_000 });
});

afterAll(async () => {
  if (demo) await killChild(demo);
  for (const name of readdirSync(dir).filter((file) => file.endsWith('.pid'))) {
    process.kill(Number(readFileSync(path.join(dir, name), 'utf8')), 'SIGKILL');
  }
  await rm(dir, { recursive: true, force: true });
});

/** Runs the commands of a section in the directory of the reader; returns what they print. What fails ends them. */
async function follow(section: string, status = 0): Promise<string> {
  return run(commandsOf(section), status);
}

function run(code: string, expected = 0): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('bash', ['-e', '-c', `. "${env}"\n${code}`], { cwd: dir });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        output += chunk;
      });
    }
    // The mirrors stay, with the output of the shell.
    child.on('exit', (status) => {
      for (const stream of [child.stdout, child.stderr]) stream.destroy();
      if (status === expected) resolve(output);
      else reject(new Error(`${code}\nended with ${status}:\n${output}`));
    });
    child.on('error', reject);
  });
}

/** The table of nodes at the end of a section's output: name, status, value of the label. */
function nodesIn(output: string): string[][] {
  const [header = '', ...rows] = output.slice(output.lastIndexOf('NAME')).trimEnd().split('\n');
  const column = header.indexOf('MIRROR');
  return rows.map((row) => {
    const [name = '', status = ''] = row.split(/\s+/);
    return [name, status, column < 0 ? '' : row.slice(column).trim()];
  });
}

const labels = (output: string) => nodesIn(output).map(([, , label]) => label);
const statuses = (output: string) => nodesIn(output).map(([, status]) => status);

test('every command of the tutorial does what the page says', async () => {
  expect(statuses(await follow('1. Start a cluster'))).toEqual(Array(5).fill('Ready'));
  await follow('2. Start a registry mirror on each node');
  expect(labels(await follow('3. Let rollcall check it'))).toEqual(Array(5).fill('true'));

  const hung = await follow('4. Let one mirror hang');
  expect(nodesIn(hung).filter(([, , label]) => label !== 'true')).toEqual([['node-1', 'Ready', '']]);
  // Something is not as it should be.
  const why = await follow('5. Ask why', 1);
  expect(why).toMatch(/check {5}answers fails: http \S+:5000 did not answer within 1000 ms/);

  expect(labels(await follow('6. Let it recover'))).toEqual(Array(5).fill('true'));
  expect(labels(await follow('7. Remove everything'))).toEqual(Array(5).fill(''));
  expect(readdirSync(dir)).toEqual([]);
  expect(await run('kubectl get nodes -o yaml')).not.toContain(LABEL);
});

test('after the leader was killed, the plugin asks the next one', async () => {
  const consoleOf = () => readFileSync(path.join(path.dirname(env), 'console'), 'utf8');
  const before = consoleOf();
  await run(`pkill -9 -f -- --console-listen=${new URL(before).host}`);
  await waitFor('another leader', () => consoleOf() !== before, { timeoutMs: 60_000 });
  expect(await run('kubectl rollcall status -o json || [ $? = 1 ]')).toContain('"leading": true');
});
