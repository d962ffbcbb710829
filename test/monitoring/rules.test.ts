import { readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ALERTS } from '../../deploy/source/monitoring/alerts.ts';
import { type Outcome, run } from '../control-plane/run.ts';
import { findPrometheus } from './tools.ts';

const MONITORING = path.resolve(import.meta.dirname, '../../deploy/monitoring');

const tools = await findPrometheus();
const missing = 'missing' in tools ? tools.missing : undefined;

function promtool(...args: string[]): Promise<Outcome> {
  return run('promtool' in tools ? tools.promtool : '', args, process.env, { cwd: MONITORING });
}

describe.skipIf(missing)(`the rules${missing ? ` (${missing})` : ''}`, () => {
  test('are such that Prometheus takes them', async () => {
    const { code, out, err } = await promtool('check', 'rules', '--lint=all', '--lint-fatal', 'rules/rollcall.yaml');
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain(`${ALERTS.length} rules found`);
  });

  test('fire each alert when it should, and not when it should not', async () => {
    const files = readdirSync(path.join(MONITORING, 'tests')).map((name) => `tests/${name}`);
    const { code, out, err } = await promtool('test', 'rules', ...files);
    expect(`${out}${err}`).not.toMatch(/FAILED/);
    expect(code).toBe(0);
    expect(out.match(/SUCCESS/g)).toHaveLength(ALERTS.length);
  });
});
