import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { killChild, spawnChild } from '../control-plane/child.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { describeOnRealNodes } from './on-real-nodes.ts';
import { closePlace, openPlace } from './place.ts';
import { marksOf, tracesOf } from './traces.ts';

describeOnRealNodes('a run that is killed outright', () => {
  test('leaves no process, and the next run removes the rest', async () => {
    const child = spawnChild(process.execPath, {
      args: [path.join(import.meta.dirname, 'main.ts'), '--nodes', '1'],
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const said: string[] = [];
    for await (const line of createInterface({ input: child.stdout ?? process.stdin })) {
      said.push(line);
      if (line.startsWith('Logs are in')) break;
    }
    const dir = /Logs are in (\S+);/.exec(said.at(-1) ?? '')?.[1] ?? '';
    const pid = Number(/--target (\d+)/.exec(said.join())?.[1]);
    const marks = await marksOf({ dir, nodes: [{ pid }] });
    expect((await tracesOf(marks)).join('\n')).toMatch(/^process .*kubelet/m);
    expect(readFileSync(path.join(dir, 'owner'), 'utf8')).toBe(`${child.pid}\n`);

    await killChild(child);
    const processes = async () => (await tracesOf(marks)).filter((trace) => trace.startsWith('process'));
    await waitFor('its processes to be gone', async () => (await processes()).length === 0);
    expect((await tracesOf(marks)).length).toBeGreaterThan(0);

    await closePlace(await openPlace());
    expect(await tracesOf(marks)).toEqual([]);
  });
});
