import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { FILE_BYTES_MAX, openHostFiles } from './host-files.ts';
import { openKernelEvents } from './sysfs-bus.ts';
import { makeFifo } from './testing/fake-sysfs.ts';

const directory = mkdtempSync(path.join(tmpdir(), 'rollcall-host-files-'));
const at = (name: string) => path.join(directory, name);
const files = openHostFiles();

afterAll(() => rmSync(directory, { recursive: true }));

writeFileSync(at('vendor'), '0x10de\n');
writeFileSync(at('junk'), Buffer.from([0xff, 0xfe, 0x00, 0x41]));
writeFileSync(at('huge'), '');
truncateSync(at('huge'), 2 ** 40);
mkdirSync(at('folder'));
mkdirSync(at('folder/child'));
symlinkSync(at('folder/child'), at('folder/link'));
symlinkSync(at('missing'), at('broken'));
symlinkSync(at('loop-b'), at('loop-a'));
symlinkSync(at('loop-a'), at('loop-b'));
symlinkSync('/dev/zero', at('endless'));
makeFifo(at('fifo'));
writeFileSync(at('secret'), 'x', { mode: 0 });
chmodSync(at('secret'), 0);

describe.each(['text', 'textLater'] as const)('%s', (method) => {
  test('gives what is in a file', async () => {
    expect(await files[method](at('vendor'))).toBe('0x10de\n');
    expect(await files[method](at('junk'))).toBe('\uFFFD\uFFFD\0A');
  });

  test('gives no more than the beginning of a huge file', async () => {
    expect((await files[method](at('huge')))?.length).toBe(FILE_BYTES_MAX);
  });

  test.each(['missing', 'broken', 'loop-a', 'folder', 'fifo', 'endless', 'vendor/below'])(
    'gives nothing for %s, at once',
    async (name) => {
      expect(await files[method](at(name))).toBeUndefined();
    },
  );

  test.runIf(process.getuid?.() !== 0)('gives nothing for a file that may not be read', async () => {
    expect(await files[method](at('secret'))).toBeUndefined();
  });

  test('leaves no file open', async () => {
    const open = () => files.list('/proc/self/fd')?.length;
    const before = open();
    for (const name of ['vendor', 'folder', 'fifo', 'missing']) await files[method](at(name));
    expect(open()).toBe(before);
  });
});

test.each(['EMFILE', 'ENFILE', 'ENOMEM'])(
  '%s, which says nothing about a file, is not taken for one that is missing',
  (code) => {
    const fs = process.getBuiltinModule('node:fs');
    const refuse = (): never => {
      throw Object.assign(new Error(code), { code });
    };
    const calls = ['openSync', 'statSync', 'readdirSync', 'readlinkSync'] as const;
    const spies = calls.map((call) => vi.spyOn(fs, call));
    for (const spy of spies) spy.mockImplementation(refuse);
    try {
      for (const method of ['text', 'signature', 'directories', 'list', 'childCount', 'link'] as const) {
        expect(() => files[method](at('vendor'))).toThrow(code);
      }
    } finally {
      for (const spy of spies) spy.mockRestore();
    }
  },
);

describe('a file that is read again', () => {
  test('is given as it is each time', () => {
    writeFileSync(at('count'), '13396\n');
    const read = files.reread(at('count'));
    expect([read?.(), read?.()]).toEqual(['13396\n', '13396\n']);
    writeFileSync(at('count'), '7\n');
    expect(read?.()).toBe('7\n');
  });

  test.each(['missing', 'folder', 'fifo', 'endless', 'loop-a'])('is not one where there is %s', (name) => {
    expect(files.reread(at(name))?.()).toBeUndefined();
  });

  test.runIf(existsSync('/sys/kernel/uevent_seqnum'))('may be the count of events of this kernel', () => {
    expect(openKernelEvents(files, '/sys')?.()).toMatch(/^\d+\n$/);
    expect(openKernelEvents(files, directory)).toBeUndefined();
  });
});

describe('signature', () => {
  test('is another one when the file is, and the same while it is not', () => {
    const before = files.signature(at('vendor'));
    expect(files.signature(at('vendor'))).toBe(before);
    rmSync(at('vendor'));
    expect(files.signature(at('vendor'))).toBeUndefined();
    writeFileSync(at('vendor.new'), '0x10de\n');
    writeFileSync(at('vendor'), '0x10de\n');
    expect(files.signature(at('vendor'))).not.toBe(before);
  });

  test('is the same when the kernel forgets an inode of sysfs and makes it anew with the time of that moment', () => {
    const before = files.signature(at('vendor'));
    utimesSync(at('vendor'), 1, 1);
    expect(files.signature(at('vendor'))).toBe(before);
  });

  test.each(['missing', 'broken', 'loop-a', 'vendor/below'])('is none for %s', (name) => {
    expect(files.signature(at(name))).toBeUndefined();
  });
});

describe('a directory', () => {
  test('is listed', () => {
    expect(files.list(at('folder'))?.sort()).toEqual(['child', 'link']);
    expect(files.directories(at('folder'))).toEqual(['child']);
  });

  test.each(['missing', 'broken', 'junk'])('is told from %s, which is none', (name) => {
    expect(files.list(at(name))).toBeUndefined();
    expect(files.directories(at(name))).toEqual([]);
  });

  test('that cannot be listed is not one that is not there', () => {
    expect(() => files.list(at('loop-a'))).toThrow(expect.objectContaining({ code: 'ELOOP' }));
    expect(files.directories(at('loop-a'))).toEqual([]);
  });
});
