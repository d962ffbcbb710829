import { mkdir, rename, symlink } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import { runPlugin } from '../../rig/run-plugin.ts';
import { RuleStage } from './rule-stage.ts';

// The numbers refer to the recorded behaviors of adaptant's k8s-auto-labeller.

const USB = 'feature.node.kubernetes.io/usb-fe_1a6e_089a.present';
const TPU = 'accelerators/edgetpu';
const ON = { [TPU]: 'true' };
const OFF = { [TPU]: undefined };

let stage: RuleStage;
beforeAll(async () => {
  const files = {
    'accelerators/edgetpu': `# Coral\n\n${USB}\nkind=tpu*`,
    'example.org/fast': `${TPU}\n`,
    'example.org/round': 'example.org/trip\nexample.org/spark\n',
    'example.org/trip': 'example.org/round\n',
    'example.org/plugin': 'resource:kkohtaka.org/edgetpu\n',
  };
  // Rules of so many nodes that are gone would wait for a person to notice.
  stage = await RuleStage.start(files, ['--mass-withdrawal-delay-seconds=0']);
});
afterAll(() => stage?.stop());

const BOTH = ['accelerators/edgetpu', 'example.org/fast'];
const chain = (value: 'true' | undefined) => ({ [TPU]: value, 'example.org/fast': value });

test('A-1 A-2 A-8 labels that imply it, whatever their value, set a label and what follows from it, and take both away', async () => {
  const node = await stage.node({ [USB]: 'false' });
  await stage.until(node, chain('true'), BOTH);
  await stage.edit(node, { [USB]: null });
  await stage.until(node, chain(undefined));
});

test('A-3 a label that a person edits or deletes is restored, by one write each', async () => {
  const node = await stage.node({ [USB]: 'true' });
  await stage.until(node, ON, BOTH);
  for (const value of ['false', null]) {
    const since = stage.states.mark(node);
    await stage.edit(node, { [TPU]: value });
    await waitFor('the label to be restored', () => {
      const seen = since().map(({ labels }) => labels[TPU]);
      return seen.includes(value ?? undefined) && seen.at(-1) === 'true';
    });
  }
});

describe('a label that a person has set before', () => {
  test.each([['true'], ['mine']])('A-4 A-5 survives match and unmatch: %s', async (value) => {
    const node = await stage.node({ [TPU]: value });
    await stage.until(node, { 'example.org/fast': 'true' }, ['example.org/fast']);
    const matched = await stage.patchesBy(() => stage.edit(node, { [USB]: 'true' }));
    const unmatched = await stage.patchesBy(() => stage.edit(node, { [USB]: null }));
    expect([matched, unmatched]).toEqual([0, 0]);
    await stage.until(node, { [TPU]: value }, ['example.org/fast']);
  });

  test('is the same to the API server as before, its owner included', async () => {
    const node = await stage.node();
    const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: node, labels: { [TPU]: 'true' } } };
    const apply = `/api/v1/nodes/${node}?fieldManager=person`;
    await stage.api.patch(apply, body, 'application/apply-patch+yaml');
    await stage.edit(node, { [USB]: 'true' });
    await stage.settled();
    await stage.edit(node, { [USB]: null });
    await stage.settled();
    expect((await stage.read(node)).metadata.labels?.[TPU]).toBe('true');
    await stage.api.patch(apply, { ...body, metadata: { name: node } }, 'application/apply-patch+yaml');
    await stage.until(node, OFF);
  });

  test('is explained by kubectl rollcall why, with file, line and term, where no line holds', async () => {
    const node = await stage.node({ kind: 'gpu' });
    await stage.settled();
    const { consoleUrl } = await stage.rig.leader();
    const { exitCode, stdout } = await runPlugin(['why', `node/${node}`, TPU, `--console-url=${consoleUrl}`]);
    expect(exitCode).toBe(1);
    expect(stdout).toBe(
      [
        `node/${node} does not get the label ${TPU} by the rule file ${TPU}: no line holds.\n`,
        `line 3    ${USB}`,
        `          does not hold: the node has no ${USB}`,
        'line 4    kind=tpu*',
        '          does not hold: the node has kind=gpu\n',
      ].join('\n'),
    );
  });

  test('is described by explain', async () => {
    const node = await stage.node({ [TPU]: 'mine', [USB]: 'true' });
    await stage.settled();
    const { keys } = await (await stage.rig.leader()).explain(node);
    const entry = keys.find(({ key }) => key === TPU);
    expect(entry).toMatchObject({ stance: 'absent', labeler: 'implied-labels' });
    expect(entry?.reason).toContain('already has the value "mine", set by another client');
  });
});

test('A-8 rules in a circle do not keep each other up, and are reported', async () => {
  const node = await stage.node({ 'example.org/spark': '1' });
  const [round, trip] = ['example.org/round', 'example.org/trip'];
  await stage.until(node, { [round]: 'true', [trip]: 'true' }, [round, trip]);
  await stage.edit(node, { 'example.org/spark': null });
  await stage.until(node, { [round]: undefined, [trip]: undefined });
  const leader = await stage.rig.leader();
  expect(await leader.metric('rollcall_coordinator_rule_problems')).toBe(1);
  const rules = await leader.console<{ problems: { problem: string }[] }>('/v1/rules');
  expect(rules?.problems[0]?.problem).toContain('cycle');
});

test('A-18 a change of other labels costs nothing', async () => {
  const node = await stage.node({ [USB]: 'true' });
  await stage.until(node, ON, BOTH);
  expect(await stage.patchesBy(() => stage.edit(node, { other: 'x' }))).toBe(0);
});

test('A-10 a value that a line asks for, with a glob', async () => {
  const [tpu, gpu] = [await stage.node({ kind: 'tpu-v2' }), await stage.node({ kind: 'gpu' })];
  await stage.until(tpu, ON, BOTH);
  await stage.settled();
  await stage.until(gpu, OFF);
});

test('A-22 a resource that the node has to allocate', async () => {
  const node = await stage.node();
  const status = (quantity: string) => ({
    status: { capacity: { 'kkohtaka.org/edgetpu': quantity }, allocatable: { 'kkohtaka.org/edgetpu': quantity } },
  });
  await stage.api.patch(`/api/v1/nodes/${node}/status`, status('1'));
  await stage.until(node, { 'example.org/plugin': 'true' }, ['example.org/plugin']);
  await stage.api.patch(`/api/v1/nodes/${node}/status`, status('0'));
  await stage.until(node, { 'example.org/plugin': undefined });
});

describe('while it runs', () => {
  test('A-7 a file, a folder that is renamed, and their removal count at once, for the nodes that they concern alone', async () => {
    const [node] = [await stage.node({ thing: '1' }), await stage.node({ other: '1' })];
    const since = await stage.patchesBy(async () => {
      await stage.write('example.org/thing', 'thing\n');
      await stage.until(node, { 'example.org/thing': 'true' }, ['example.org/thing']);
    });
    expect(since).toBe(1);
    await stage.write('accelerators/nested', 'thing\n');
    await stage.until(node, { 'accelerators/nested': 'true' }, ['accelerators/nested', 'example.org/thing']);
    await stage.remove('accelerators/nested');
    await stage.until(node, { 'accelerators/nested': undefined }, ['example.org/thing']);
    await stage.remove('example.org/thing');
    await stage.until(node, { 'example.org/thing': undefined });
  });

  test('A-11 A-16 a bad file, or an editor’s, is reported or ignored, and leaves the others alone', async () => {
    const node = await stage.node({ thing: '1' });
    await stage.write('accelerators/a b', 'thing\n');
    await stage.write('accelerators/thing~', 'thing\n');
    await stage.write('accelerators/.thing.swp', 'thing\n');
    await stage.write('kubernetes.io/thing', 'thing\n');
    await stage.write('accelerators/good', 'thing\n');
    await stage.until(node, { 'accelerators/good': 'true' }, ['accelerators/good']);
    const rules = await (await stage.rig.leader()).console<{ problems: { file: string }[] }>('/v1/rules');
    const files = rules?.problems.map(({ file }) => file);
    expect(files).toContain('accelerators/a b');
    expect(files).toContain('kubernetes.io/thing');
    expect(files?.some((file) => file.includes('~') || file.includes('.swp'))).toBe(false);
    for (const file of ['accelerators/a b', 'accelerators/good', 'kubernetes.io']) await stage.remove(file);
    await stage.until(node, { 'accelerators/good': undefined });
  });

  test('A-13 a ConfigMap that is mounted as a folder is swapped as a whole', async () => {
    const node = await stage.node({ first: '1', second: '1' });
    const folder = path.join(stage.rules, 'example.org', '..', 'plain-maps');
    await mkdir(path.dirname(folder), { recursive: true });
    const mount = path.join(stage.rules, 'example.org');
    const swapTo = async (name: string, condition: string) => {
      await stage.write(`example.org/${name}/mapped`, `${condition}\n`);
      await symlink(name, path.join(mount, '..data_tmp'));
      await rename(path.join(mount, '..data_tmp'), path.join(mount, '..data'));
    };
    await swapTo('..2026_1', 'first');
    await symlink('..data/mapped', path.join(mount, 'mapped'));
    await stage.until(node, { 'example.org/mapped': 'true' }, ['example.org/mapped']);
    await swapTo('..2026_2', 'nothing');
    await stage.until(node, { 'example.org/mapped': undefined });
  });
});

describe('while no coordinator runs', () => {
  test('A-6 what a rule implied goes when the label behind it went', async () => {
    const node = await stage.node({ [USB]: 'true' });
    await stage.until(node, chain('true'), BOTH);
    await stage.whileDown(() => stage.edit(node, { [USB]: null }));
    await stage.until(node, chain(undefined));
  });

  test('A-6 so it does when the rule went, but leaves a label that a person changed meanwhile', async () => {
    await stage.write('example.org/passing', 'thing\n');
    const [plain, edited] = [await stage.node({ thing: '1' }), await stage.node({ thing: '1' })];
    for (const node of [plain, edited]) {
      await stage.until(node, { 'example.org/passing': 'true' }, ['example.org/passing']);
    }
    await stage.whileDown(async () => {
      await stage.remove('example.org/passing');
      await stage.edit(edited, { 'example.org/passing': 'mine' });
    });
    await stage.until(plain, { 'example.org/passing': undefined });
    await stage.until(edited, { 'example.org/passing': 'mine' });
  });

  test('nothing is written when nothing differs', async () => {
    await stage.settled();
    const writes = await stage.patchesBy(() => stage.whileDown(async () => {}));
    expect(writes).toBe(0);
  });
});

test('A-14 an empty directory takes every label away, and the coordinator runs on', async () => {
  const node = await stage.node({ [USB]: 'true', mark: 'x' });
  await stage.until(node, { ...chain('true'), marked: 'true' }, [...BOTH, 'marked']);
  for (const name of ['accelerators', 'example.org', 'marked']) await stage.remove(name);
  await stage.until(node, { ...chain(undefined), marked: undefined });
  expect((await stage.rig.leader()).running).toBe(true);
});

test('A-20 SIGTERM ends it within a second', async () => {
  const leader = await stage.rig.leader();
  const fromMs = performance.now();
  expect(await stage.rig.endCoordinator(leader, 'SIGTERM')).toBe(0);
  expect(performance.now() - fromMs).toBeLessThan(1000);
});
