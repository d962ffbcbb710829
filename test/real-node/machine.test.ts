import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from 'vitest';
import { findObstacle } from './machine.ts';

const isRoot = process.getuid?.() === 0;

/** Result of `findObstacle` in a process with fewer rights. */
function obstacleWith(...restrictions: string[]): string {
  const script = `import { findObstacle } from '${path.join(import.meta.dirname, 'machine.ts')}';
    process.stdout.write(String(await findObstacle()));`;
  const args = [...restrictions, process.execPath, '--input-type=module', '--eval', script];
  return execFileSync('setpriv', args, { encoding: 'utf8' });
}

test.skipIf(!isRoot)('says what a process without the rights of an administrator lacks', () => {
  const obstacle = obstacleWith('--bounding-set=-sys_admin,-net_admin', '--inh-caps=-sys_admin,-net_admin');
  expect(obstacle).toMatch(/^cannot make (cgroups|namespaces)/);
});

test.skipIf(isRoot)('says that nodes need root', async () => {
  expect(await findObstacle()).toMatch(/^needs (root|Linux)$/);
});
