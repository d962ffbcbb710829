import { closeSync, openSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createRegistry } from './metrics.ts';

async function openDescriptors(): Promise<number> {
  const text = await createRegistry('rollcall_agent').metrics();
  return Number(/^process_open_fds (\d+)$/m.exec(text)?.[1]);
}

test('a process tells how many file descriptors it has open', async () => {
  const before = await openDescriptors();
  expect(before).toBeGreaterThan(2);
  const opened = Array.from({ length: 50 }, () => openSync('/dev/null', 'r'));
  expect(await openDescriptors()).toBeGreaterThanOrEqual(before + 40);
  for (const fd of opened) closeSync(fd);
});
