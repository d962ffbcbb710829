import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const FOLDER = path.resolve(import.meta.dirname, '../../.github/workflows');
type Step = { uses?: string; run?: string };
type Workflow = { permissions?: object; jobs: Record<string, { 'timeout-minutes'?: number; steps: Step[] }> };

const files = readdirSync(FOLDER);

describe.each(files)('%s', (file) => {
  const text = readFileSync(path.join(FOLDER, file), 'utf8');
  const workflow = parse(text) as Workflow;
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);

  test('uses actions by the digest of a commit, with their version beside it', () => {
    const used = text.split('\n').filter((line) => /\buses:/.test(line));
    expect(used.length).toBe(steps.filter(({ uses }) => uses).length);
    expect(used.filter((line) => !/uses: [\w-]+(\/[\w-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
  });

  test('gives no rights that are not named, and no job for ever', () => {
    expect(workflow.permissions).toBeDefined();
    expect(Object.values(workflow.jobs).filter((job) => !job['timeout-minutes'])).toEqual([]);
  });

  test('puts nothing into a script that another person may have written', () => {
    expect(steps.filter(({ run }) => run?.includes('${'.concat('{')))).toEqual([]);
  });
});
