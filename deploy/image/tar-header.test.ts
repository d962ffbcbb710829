import { describe, expect, test } from 'vitest';
import { readTar, writeTar } from './tar.ts';
import { addFile, type Entry, type Tree } from './tree.ts';

const BLOCK = 512;

/** Fields of a block by their offset, without NUL bytes. */
function fieldsOf(block: Buffer): [number, string][] {
  return [...block.toString('latin1').matchAll(/[^\0]+/g)].map((match) => [match.index, match[0]]);
}

const archiveOf = (path: string, entry: Entry) => writeTar(new Map([[path, entry]]));
const file = (content: string): Entry => ({ type: 'file', mode: 0o644, content: Buffer.from(content) });

/** The sum of the bytes of a header, its own field taken for spaces. */
function sumOf(block: Buffer): string {
  const blank = Buffer.from(block);
  blank.fill(' ', 148, 156);
  return blank
    .reduce((sum, byte) => sum + byte, 0)
    .toString(8)
    .padStart(6, '0');
}

describe('a header', () => {
  const numbers: [number, string][] = [
    [108, '0000000'],
    [116, '0000000'],
  ];

  test('of a file has its mode, its size and nothing of who made it', () => {
    const header = archiveOf('a', file('x'.repeat(9))).subarray(0, BLOCK);
    expect(fieldsOf(header)).toEqual([
      [0, 'a'],
      [100, '0000644'],
      ...numbers,
      [124, '00000000011'],
      [136, '00000000000'],
      [148, sumOf(header)],
      [156, '0'],
      [257, 'ustar'],
      [263, '00'],
    ]);
  });

  test('of a link has its target, and no content', () => {
    const archive = archiveOf('a', { type: 'symlink', target: 'b/c' });
    const header = archive.subarray(0, BLOCK);
    expect(fieldsOf(header)).toEqual([
      [0, 'a'],
      [100, '0000777'],
      ...numbers,
      [124, '00000000000'],
      [136, '00000000000'],
      [148, sumOf(header)],
      [156, '2b/c'],
      [257, 'ustar'],
      [263, '00'],
    ]);
    expect(archive).toHaveLength(3 * BLOCK);
  });

  test('of a directory ends its name with a slash', () => {
    const header = archiveOf('a', { type: 'directory', mode: 0o1777 }).subarray(0, BLOCK);
    expect(fieldsOf(header).slice(0, 2)).toEqual([
      [0, 'a/'],
      [100, '0001777'],
    ]);
    expect(header[156]).toBe('5'.charCodeAt(0));
  });
});

describe('a long name', () => {
  /** The prefix and the name of the last header in an archive. */
  function partsOf(path: string): [string, string] {
    const archive = archiveOf(path, file(''));
    const header = fieldsOf(archive.subarray(archive.length - 3 * BLOCK, archive.length - 2 * BLOCK));
    const at = (offset: number) => header.find(([start]) => start === offset)?.[1] ?? '';
    // A name of a hundred bytes is followed by the mode, without a NUL between.
    return [at(345), at(0).slice(0, 100)];
  }

  test('of a hundred bytes is whole', () => {
    expect(partsOf('n'.repeat(100))).toEqual(['', 'n'.repeat(100)]);
    expect(partsOf(`d/${'n'.repeat(98)}`)).toEqual(['', `d/${'n'.repeat(98)}`]);
  });

  test('is cut at the first slash behind which the rest fits', () => {
    expect(partsOf(`d/${'n'.repeat(99)}`)).toEqual(['d', 'n'.repeat(99)]);
    expect(partsOf(`d/${'n'.repeat(100)}`)).toEqual(['d', 'n'.repeat(100)]);
    expect(partsOf(`${'d'.repeat(60)}/${'e'.repeat(60)}/f`)).toEqual(['d'.repeat(60), `${'e'.repeat(60)}/f`]);
    expect(partsOf(`${'d'.repeat(90)}/${'e'.repeat(65)}`)[0]).toBe('d'.repeat(90));
  });

  test.each([
    ['no slash', 'n'.repeat(101)],
    ['its last part too long', `d/${'n'.repeat(101)}`],
    ['its last part too long in bytes', `d/${'ü'.repeat(60)}`],
    ['its first part too long', `${`${'d'.repeat(50)}/`.repeat(3)}eee/${'n'.repeat(100)}`],
  ])('with %s is refused', (_what, path) => {
    expect(() => archiveOf(path, file(''))).toThrow('too long for a tar header');
  });

  test('of a directory without another slash is refused', () => {
    expect(() => archiveOf('n'.repeat(110), { type: 'directory', mode: 0o755 })).toThrow('too long for a tar header');
  });

  test('with a first part of 155 bytes fits', () => {
    const path = `${`${'d'.repeat(50)}/`.repeat(3)}ee/${'n'.repeat(100)}`;
    expect(partsOf(path)[0]).toHaveLength(155);
  });
});

describe('an archive', () => {
  test.each([
    [0, 3],
    [1, 4],
    [511, 4],
    [512, 4],
    [513, 5],
  ])('with a file of %d bytes has %d blocks, two of them empty at its end', (size, blocks) => {
    const archive = archiveOf('a', file('x'.repeat(size)));
    expect(archive).toHaveLength(blocks * BLOCK);
    expect(fieldsOf(archive.subarray(-2 * BLOCK))).toEqual([]);
  });

  test('is read to its end, or to its first empty block', () => {
    const tree: Tree = new Map();
    for (const name of ['a', 'b', 'c']) addFile(tree, name, name.repeat(600));
    const archive = writeTar(tree);
    expect([...readTar(archive, () => true).keys()]).toEqual(['a', 'b', 'c']);
    const whole = archive.subarray(0, -2 * BLOCK);
    expect([...readTar(whole, () => true).keys()]).toEqual(['a', 'b', 'c']);
    expect([...readTar(Buffer.concat([archive, whole]), () => true).keys()]).toEqual(['a', 'b', 'c']);
    expect(readTar(archive, (path) => path === 'b')).toEqual(
      new Map([['b', { type: 'file', mode: 0o644, content: Buffer.from('b'.repeat(600)) }]]),
    );
  });

  /** A header with some fields of another writer. */
  function foreign(change: (header: Buffer) => void): Tree {
    const archive = archiveOf('a', file('x'));
    archive.write('./a', 0);
    change(archive);
    return readTar(archive, () => true);
  }

  test('of another writer is read: with ./ before names, and no type for a file', () => {
    expect([...foreign(() => {}).keys()]).toEqual(['a']);
    expect(foreign((header) => header.fill(0, 156, 157)).get('a')).toMatchObject({ type: 'file' });
  });

  test('keeps of a mode only what is one', () => {
    const found = foreign((header) => header.write('0107755', 100));
    expect(found.get('a')).toMatchObject({ mode: 0o7755 });
  });

  test('has a prefix only where it is in the format that has one', () => {
    const found = (magic: string) =>
      foreign((header) => {
        header.write('dir', 345);
        header.fill(0, 257, 265);
        header.write(magic, 257);
        header.write('b', 0);
        header.fill(0, 1, 10);
      });
    expect([...found('ustar').keys()]).toEqual(['dir/b']);
    expect([...found('ustar  ').keys()]).toEqual(['b']);
  });

  test('is read without what is no file, link or directory', () => {
    expect(foreign((header) => header.write('6', 156)).size).toBe(0);
  });

  test('has a long name for the one entry that follows it', () => {
    const [long, first, second] = [
      archiveOf('x', file('long-name\0')),
      archiveOf('y', file('1')),
      archiveOf('z', file('2')),
    ];
    long.write('L', 156);
    const archive = Buffer.concat([long.subarray(0, 2 * BLOCK), first.subarray(0, 2 * BLOCK), second]);
    expect([...readTar(archive, () => true).keys()]).toEqual(['long-name', 'z']);
  });
});

test('names and targets that fill their fields are read to their ends, and no further', () => {
  const target = 't'.repeat(100);
  const names = ['n'.repeat(100), `${`${'d'.repeat(50)}/`.repeat(3)}ee/${'n'.repeat(100)}`];
  const tree: Tree = new Map(names.map((name) => [name, { type: 'symlink', target }]));
  const links = [...readTar(writeTar(tree), () => true)].filter(([, { type }]) => type === 'symlink');
  expect(links.sort()).toEqual([...tree].sort());
});

test('an archive that ends with its last entry is read as a whole', () => {
  expect([...readTar(archiveOf('a', file('')).subarray(0, BLOCK), () => true).keys()]).toEqual(['a']);
});
