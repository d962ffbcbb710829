import { expect, test } from 'vitest';
import { createProgram } from '../program.ts';
import { kubeConfigFile } from '../testing/run.test-fixtures.ts';
import { complete } from './complete.ts';

const named = (...names: string[]) => ({ items: names.map((name) => ({ metadata: { name } })), metadata: {} });

const CLUSTER = {
  '/api/v1/nodes': named('node-1', 'node-2', 'other'),
  '/apis/rollcall.dev/v1alpha1/nodeservices': named('ebs-csi', 'mirror'),
  '/api/v1/namespaces': named('default', 'kube-system'),
  '/api/v1/namespaces/default/pods': named('ws-1', 'ws-2'),
};

/** What follows, without descriptions. */
async function after(...words: string[]): Promise<string[]> {
  const program = createProgram({
    terminal: { columns: undefined, colors: false },
    streams: { print: () => {}, note: () => {} },
    name: 'kubectl rollcall',
    signal: new AbortController().signal,
    onExit: () => {},
  });
  const text = await complete(program, words);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t')[0] ?? '');
}

test('every command and every flag of a command that its help names is offered', async () => {
  expect(await after('')).toEqual(['status', 'why', 'audit', 'check', 'diff', 'console', ':4']);
  expect(await after('st')).toEqual(['status', ':4']);
  expect(await after('check', '--')).toEqual([
    '--namespace',
    '--context',
    '--kubeconfig',
    '--output',
    '--pre',
    '--help',
    ':4',
  ]);
});

test('the choices of a flag are offered, beside it and behind its equals sign', async () => {
  expect(await after('status', '-o', '')).toEqual(['wide', 'json', 'yaml', ':4']);
  expect(await after('status', '--only=r')).toEqual(['--only=rollcall', ':4']);
  expect(await after('status', '--only=rollcall', '--o')).toEqual(['--output', '--only', ':4']);
});

test('files are left to the shell', async () => {
  expect(await after('diff', '-f', '')).toEqual([':0']);
  expect(await after('status', '--kubeconfig', 'k')).toEqual([':0']);
});

test('what can be asked about is read from the cluster of the line', async () => {
  const flag = `--kubeconfig=${await kubeConfigFile(CLUSTER)}`;
  expect(await after('why', flag, '')).toEqual(['node/', 'nodeservice/', 'pod/', ':6']);
  expect(await after('why', flag, 'node/n')).toEqual(['node/node-1', 'node/node-2', ':4']);
  expect(await after('why', flag, 'nodeservice/')).toEqual(['nodeservice/ebs-csi', 'nodeservice/mirror', ':4']);
  expect(await after('why', flag, 'pod/d')).toEqual(['pod/default/', ':6']);
  expect(await after('why', flag, 'pod/default/')).toEqual(['pod/default/ws-1', 'pod/default/ws-2', ':4']);
  expect(await after('status', flag, '-n', 'k')).toEqual(['kube-system', ':4']);
  expect(await after('status', flag, '--context', '')).toEqual(['x', ':4']);
});

test('nothing is offered where the cluster cannot be reached, or there is nothing', async () => {
  expect(await after('why', '--kubeconfig=/nonexistent', 'node/')).toEqual([':4']);
  expect(await after('why', 'node/a', 'b', 'c')).toEqual([':4']);
  expect(await after('nothing', '')).toEqual(['status', 'why', 'audit', 'check', 'diff', 'console', ':4']);
});
