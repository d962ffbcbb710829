import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { compressOnce } from './kept-layer.ts';
import { compress } from './oci.ts';

const archive = Buffer.from('archive '.repeat(1000));
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'rollcall-kept-'));
});

afterEach(() => rmSync(dir, { recursive: true }));

function keptFile(): string {
  return path.join(dir, readdirSync(dir)[0] ?? '');
}

test('gives what is kept, as long as it unpacks to the archive', async () => {
  await compressOnce(archive, dir);
  const other = gzipSync(archive, { level: 1 });
  writeFileSync(keptFile(), other);
  expect((await compressOnce(archive, dir)).equals(other)).toBe(true);
});

test('compresses again when what is kept is damaged or of something else', async () => {
  const fresh = await compressOnce(archive, dir);
  expect(gunzipSync(fresh).equals(archive)).toBe(true);
  for (const wrong of [Buffer.from('no gzip'), gzipSync('other')]) {
    writeFileSync(keptFile(), wrong);
    expect((await compressOnce(archive, dir)).equals(fresh)).toBe(true);
  }
  expect(fresh.equals(compress(archive))).toBe(true);
});

test('is kept under what it unpacks to, and leaves nothing else behind', async () => {
  const cache = path.join(dir, 'not', 'there', 'yet');
  await compressOnce(archive, cache);
  await compressOnce(Buffer.from('other'), cache);
  const names = readdirSync(cache);
  expect(names).toHaveLength(2);
  for (const name of names) expect(name).toMatch(/^[0-9a-f]{64}-zlib-.*\.gz$/);
});
