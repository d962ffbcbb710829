import { execFile } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNode } from '../../control-plane/cluster.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { ShellTools } from '../../demo/shell-tools.ts';

let controlPlane: ControlPlane;
let tools: ShellTools;

beforeAll(async () => {
  controlPlane = await startControlPlane();
  const { binaries, kubeconfig } = controlPlane;
  tools = await ShellTools.write({ kubectlPath: binaries.kubectl, kubeconfig });
});
afterAll(async () => {
  await tools?.remove();
  await controlPlane?.stop();
});

/** What a shell is told by kubectl, as its own script for completion asks it, in the terminal of `npm start`. */
function completions(...words: string[]): Promise<string[]> {
  const script = `. "${tools.file}"; kubectl __complete rollcall "$@"`;
  return new Promise((resolve, reject) => {
    execFile('sh', ['-c', script, 'sh', ...words], { env: { PATH: '/usr/bin:/bin' } }, (error, stdout) => {
      if (error) reject(error);
      else resolve(stdout.trimEnd().split('\n'));
    });
  });
}

test('kubectl completes commands, flags, and names of the cluster', async () => {
  await createNode(controlPlane.api, 'node-a');
  await createNode(controlPlane.api, 'other');
  expect(await completions('wh')).toEqual([expect.stringMatching(/^why\tExplains why/), ':4']);
  expect(await completions('status', '--o')).toEqual([
    expect.stringMatching(/^--output\t/),
    expect.stringMatching(/^--only\t/),
    ':4',
  ]);
  expect(await completions('why', 'node/n')).toEqual(['node/node-a', ':4']);
});
