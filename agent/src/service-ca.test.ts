import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Logger } from '@rollcall/common/logging.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CaProvider } from './probes/https-agent.ts';
import { FIRST } from './report/testing/certificates.ts';
import { serviceCa } from './service-ca.ts';

let directory: string;
let file: string;
let logged: { msg: string; service: unknown }[];
let ca: CaProvider;

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'rollcall-service-ca-'));
  file = path.join(directory, 'ca.crt');
  logged = [];
  const keep = ({ service }: { service?: unknown }, msg: string) => logged.push({ msg, service });
  ca = serviceCa(file, 'registry-facade', { info: () => {}, warn: keep } as unknown as Logger);
});

afterEach(() => rmSync(directory, { recursive: true }));

test('the CA of a service is what its file says now', () => {
  expect(ca()).toBeUndefined();
  writeFileSync(file, FIRST.ca);
  expect(ca()?.toString()).toBe(FIRST.ca.trim());
  expect(ca()).toBeInstanceOf(Buffer);
});

test('each cause for which there is no CA is told once, with the service', () => {
  const line = { msg: 'Could not verify a service', service: 'registry-facade' };
  for (let time = 0; time < 3; time += 1) {
    ca();
    expect(logged).toEqual([line]);
  }
  writeFileSync(file, 'rubbish');
  for (let time = 0; time < 3; time += 1) {
    ca();
    expect(logged).toEqual([line, line]);
  }
});

test('what goes wrong after a file that was well is told', () => {
  writeFileSync(file, FIRST.ca);
  ca();
  rmSync(file);
  expect(ca()?.toString()).toBe(FIRST.ca.trim());
  expect(logged.map(({ msg }) => msg)).toEqual(['Kept the CA certificates that were known before']);
});
