import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const ROOT = path.resolve(import.meta.dirname, '../..');
const FOLDER = path.join(ROOT, '.github/workflows');
type Step = { uses?: string; run?: string };
type Job = {
  permissions?: Readonly<Record<string, string>>;
  needs?: string | string[];
  container?: string;
  environment?: string;
  'timeout-minutes'?: number;
  /** Another workflow, in place of steps. */
  uses?: string;
  steps?: Step[];
};
type Workflow = { permissions?: Readonly<Record<string, string>>; jobs: Record<string, Job> };
/** What runs code of npm packages: the workspace as it is installed. */
const CODE_OF_PACKAGES = /\b(npm|npx|pnpm|node)\b|\.ci\/install/;

function readWorkflow(file: string): { text: string; jobs: [name: string, job: Job][]; workflow: Workflow } {
  const text = readFileSync(path.join(FOLDER, file), 'utf8');
  const workflow = parse(text) as Workflow;
  return { text, workflow, jobs: Object.entries(workflow.jobs) };
}

/** The rights of each job beyond reading the source, such as `publish: packages`. */
function rightsOf({ workflow, jobs }: ReturnType<typeof readWorkflow>): string[] {
  return jobs.flatMap(([name, { permissions = workflow.permissions ?? {} }]) =>
    Object.entries(permissions)
      .filter(([right, level]) => right !== 'contents' || level !== 'read')
      .map(([right]) => `${name}: ${right}`),
  );
}

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
  const { text, jobs, workflow } = readWorkflow(file);
  const steps = jobs.flatMap(([, job]) => job.steps ?? []);

  test('uses actions by the digest of a commit, with their version beside it', () => {
    const used = text.split('\n').filter((line) => /\buses: (?!\.\/)/.test(line));
    expect(used.length).toBe(steps.filter(({ uses }) => uses).length);
    expect(used.filter((line) => !/uses: [\w-]+(\/[\w-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
  });

  test('runs no package of npm but from the lock files', () => {
    expect(text).not.toMatch(/\bnpx\b|npm (install|i|exec)\b/);
  });

  test('gives no rights that are not named, and no job for ever', () => {
    expect(workflow.permissions).toBeDefined();
    expect(jobs.filter(([, job]) => job.steps && !job['timeout-minutes'])).toEqual([]);
  });

  test('runs containers by their digest, of the release of Debian that the image is made of', () => {
    const { release } = JSON.parse(readFileSync(path.join(ROOT, 'deploy/image/debian-lock.json'), 'utf8'));
    for (const [, { container, steps = [] }] of jobs.filter(([, job]) => job.container)) {
      expect(container).toMatch(new RegExp(`^debian:${release}@sha256:[0-9a-f]{64}$`));
      // For TLS, for the commit, and for the Node.js of the workspace.
      expect(steps[0]?.run).toContain(' ca-certificates git libatomic1');
    }
  });

  test('runs no code of npm packages in a job with rights', () => {
    const powerful = new Set(rightsOf({ text, jobs, workflow }).map((right) => right.split(':')[0]));
    for (const [name, job] of jobs)
      if (powerful.has(name))
        for (const { run = '' } of job.steps ?? []) expect(run, name).not.toMatch(CODE_OF_PACKAGES);
  });

  test('puts nothing into a script that another person may have written', () => {
    expect(steps.filter(({ run }) => run?.includes('${'.concat('{')))).toEqual([]);
  });
});

describe('a release', () => {
  const release = readWorkflow('release.yaml');
  const jobs = new Map(release.jobs);

  test('has rights in one job alone, which waits for all others and for people', () => {
    expect(rightsOf(release)).toEqual(
      ['contents', 'packages', 'id-token', 'attestations'].map((right) => `publish: ${right}`),
    );
    expect(release.jobs.filter(([, job]) => job.environment).map(([name]) => name)).toEqual(['publish']);
    const waitsFor = (name: string): string[] =>
      [jobs.get(name)?.needs ?? []].flat().flatMap((needed) => [needed, ...waitsFor(needed)]);
    expect([...new Set(waitsFor('publish'))].sort()).toEqual(
      [...jobs.keys()].filter((name) => name !== 'publish').sort(),
    );
  });

  test('is checked as each commit on main is, and refused where the tag is not on main', () => {
    expect(jobs.get('check')?.uses).toBe('./.github/workflows/check.yaml');
    expect(
      jobs.get('build')?.steps?.some(({ run }) => run?.includes('merge-base --is-ancestor "$GITHUB_SHA" origin/main')),
    ).toBe(true);
  });

  test('is published by a script of a shell alone', () => {
    const script = readFileSync(path.join(ROOT, 'deploy/release/publish.sh'), 'utf8').replace(/^#.*$/gm, '');
    expect(script).not.toMatch(CODE_OF_PACKAGES);
    expect(jobs.get('publish')?.steps?.some(({ run }) => run?.startsWith('deploy/release/publish.sh dist '))).toBe(
      true,
    );
  });
});

test('a proposal of new locks has no rights where code of packages makes them', () => {
  expect(rightsOf(readWorkflow('renew.yaml'))).toEqual(
    ['contents', 'pull-requests', 'actions'].map((right) => `propose: ${right}`),
  );
});
