import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createAuthority } from './certificate-authority.ts';
import { readClientCas } from './client-cas.ts';

describe('the CAs of clients', () => {
  let dir: string;
  let file: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'rollcall-client-cas-'));
    file = join(dir, 'ca.crt');
  });
  afterEach(() => rm(dir, { recursive: true }));

  const read = async (text: string) => {
    await writeFile(file, text);
    return readClientCas({ schedulerClientCaFile: file });
  };

  test('are read one by one', async () => {
    const [a, b] = await Promise.all([createAuthority({ nowMs: Date.now() }), createAuthority({ nowMs: Date.now() })]);
    expect(await read(a.cert + b.cert)).toEqual([a.cert, b.cert]);
    expect(await read(`first\n${a.cert}second\n${b.cert}`)).toEqual([a.cert, b.cert]);
    expect(readClientCas({ schedulerClientCaFile: undefined })).toBeUndefined();
  });

  test('are a wrong setting when there is none, when one is damaged, or when the file is missing', async () => {
    const { cert, key } = await createAuthority({ nowMs: Date.now() });
    for (const text of ['', 'garbage', key, cert + cert.replace(/^M/m, 'X'), `${cert}-----BEGIN CERTIFICATE-----\n`]) {
      await expect(read(text)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    }
    expect(() => readClientCas({ schedulerClientCaFile: join(dir, 'none') })).toThrow(/cannot read/);
  });
});
