import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const ROOT = path.resolve(import.meta.dirname, '../..');
const FOLDER = path.join(ROOT, '.github/workflows');
type Step = { uses?: string; run?: string };
type Workflow = { permissions?: object; jobs: Record<string, { 'timeout-minutes'?: number; steps: Step[] }> };

const files = readdirSync(FOLDER);

test('pnpm has one version, which the workflows install by its hash', () => {
  const json = (file: string) => JSON.parse(readFileSync(path.join(ROOT, file), 'utf8'));
  const { packageManager, scripts } = json('package.json');
  for (const script of [scripts.prestart, scripts.pretest]) expect(script).toContain(`npx --yes ${packageManager} `);
  const { packages } = json('.ci/pnpm/package-lock.json');
  expect(packages['node_modules/@pnpm/exe.linux-x64']).toMatchObject({
    version: packageManager.replace('pnpm@', ''),
    integrity: expect.stringMatching(/^sha512-/),
  });
  expect(packages[''].dependencies).toEqual(json('.ci/pnpm/package.json').dependencies);
});

describe.each(files)('%s', (file) => {
  const text = readFileSync(path.join(FOLDER, file), 'utf8');
  const workflow = parse(text) as Workflow;
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);

  test('uses actions by the digest of a commit, with their version beside it', () => {
    const used = text.split('\n').filter((line) => /\buses:/.test(line));
    expect(used.length).toBe(steps.filter(({ uses }) => uses).length);
    expect(used.filter((line) => !/uses: [\w-]+(\/[\w-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
  });

  test('runs no package of npm but from the lock files', () => {
    expect(text).not.toMatch(/\bnpx\b|npm (install|i|exec)\b/);
  });

  test('gives no rights that are not named, and no job for ever', () => {
    expect(workflow.permissions).toBeDefined();
    expect(Object.values(workflow.jobs).filter((job) => !job['timeout-minutes'])).toEqual([]);
  });

  test('puts nothing into a script that another person may have written', () => {
    expect(steps.filter(({ run }) => run?.includes('${'.concat('{')))).toEqual([]);
  });
});
