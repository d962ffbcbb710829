import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { factsProgram } from './facts-program.ts';

const TOPOLOGY = '/sys/devices/system/cpu/cpu0/topology/core_cpus_list';
const isX86 = process.arch === 'x64';
const isGuest = isX86 && /^flags.*\bhypervisor\b/m.test(readFileSync('/proc/cpuinfo', 'utf8'));
const sources = '/sys/devices/system/clocksource/clocksource0/available_clocksource';
const isKvm = isGuest && existsSync(sources) && readFileSync(sources, 'utf8').includes('kvm-clock');

test.runIf(existsSync(TOPOLOGY))('the facts need no helper, as there is none in the image', () => {
  const { command, args } = factsProgram(`file://${path.join(import.meta.dirname, 'facts-program.ts')}`);
  const output = execFileSync(command, args, { env: { PATH: '/nowhere' }, stdio: ['ignore', 'pipe', 'ignore'] });
  const facts = JSON.parse(output.toString());
  const count = expect.stringMatching(/^[1-9]\d*$/);
  expect(facts).toMatchObject({ 'cpu-threads': count, 'cpu-cores': count });
  if (isX86)
    expect(facts).toMatchObject({ 'cpu-family': count, 'cpu-model': count, 'cpu-stepping': expect.any(String) });
  if (isKvm) expect(facts).toMatchObject({ virtual: 'true', hypervisor: 'KVM' });
});
