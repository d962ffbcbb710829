import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CaFile } from '@rollcall/common/ca-file.ts';
import { type Logger, silentLogger } from '@rollcall/common/logging.ts';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { FIRST, SECOND } from './testing/certificates.ts';

const directory = mkdtempSync(path.join(tmpdir(), 'rollcall-ca-'));
const file = path.join(directory, 'ca.crt');

afterAll(() => rmSync(directory, { recursive: true }));
beforeEach(() => rmSync(file, { force: true }));

function caFile() {
  return new CaFile(file, silentLogger());
}

function replaceFile(content: string) {
  writeFileSync(`${file}.new`, content);
  renameSync(`${file}.new`, file);
}

describe('CaFile', () => {
  test('gives all certificates of a bundle, whatever stands between them', () => {
    writeFileSync(file, `# old\n${FIRST.ca}\n# new\n${SECOND.ca}`);
    const pem = caFile().current();
    expect(pem).toContain(FIRST.ca.trim());
    expect(pem).toContain(SECOND.ca.trim());
    expect(pem).not.toContain('#');
  });

  test('sees the file when it comes, and each time it is replaced', () => {
    const ca = caFile();
    expect(() => ca.current()).toThrow(expect.objectContaining({ code: 'CERTIFICATE_INVALID' }));
    writeFileSync(file, FIRST.ca);
    expect(ca.current()).toBe(FIRST.ca.trim());
    replaceFile(SECOND.ca);
    expect(ca.current()).toBe(SECOND.ca.trim());
  });

  test.each([
    ['an empty file', ''],
    ['a key', FIRST.key],
    ['a torn certificate', FIRST.ca.slice(0, 200)],
    ['a certificate of rubbish', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
  ])('never takes %s for authorities', (_name, content) => {
    writeFileSync(file, content);
    expect(() => caFile().current()).toThrow(expect.objectContaining({ code: 'CERTIFICATE_INVALID' }));
  });

  test('keeps what it knows while the file is unusable', () => {
    writeFileSync(file, FIRST.ca);
    const ca = caFile();
    ca.current();
    replaceFile('rubbish');
    expect(ca.current()).toBe(FIRST.ca.trim());
    rmSync(file);
    expect(ca.current()).toBe(FIRST.ca.trim());
    replaceFile(SECOND.ca);
    expect(ca.current()).toBe(SECOND.ca.trim());
  });

  test('tells once that the file is another one, and once why it cannot be used', () => {
    const lines: string[] = [];
    const keep = (_fields: unknown, message: string) => lines.push(message);
    const ca = new CaFile(file, { info: keep, warn: keep } as unknown as Logger);
    const look = (content: string) => {
      replaceFile(content);
      for (let time = 0; time < 3; time += 1) ca.current();
      return lines.splice(0);
    };
    expect(look(FIRST.ca)).toEqual([]);
    expect(look(SECOND.ca)).toEqual(['Reloaded CA certificates']);
    expect(look('rubbish')).toEqual(['Kept the CA certificates that were known before']);
    expect(look(SECOND.ca)).toEqual([]);
    expect(look('rubbish')).toEqual(['Kept the CA certificates that were known before']);
  });
});
