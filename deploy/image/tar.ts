import { completeTree, type Entry, type Tree } from './tree.ts';

const BLOCK = 512;
const TYPES = { file: '0', symlink: '2', directory: '5' } as const;
/** GNU's: its content is the name of the entry that follows. */
const LONG_NAME = 'L';

/**
 * The tree as an archive in the ustar format. The same tree gives the same bytes: entries are sorted, everything
 * belongs to root, and nothing has a time.
 */
export function writeTar(tree: Tree): Buffer {
  const blocks: Buffer[] = [];
  for (const [path, entry] of completeTree(tree)) {
    blocks.push(header(path, entry));
    if (entry.type !== 'file') continue;
    blocks.push(entry.content, Buffer.alloc(padding(entry.content.length)));
  }
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

function header(path: string, entry: Entry): Buffer {
  const block = Buffer.alloc(BLOCK);
  const [prefix, name] = splitName(entry.type === 'directory' ? `${path}/` : path);
  const size = entry.type === 'file' ? entry.content.length : 0;
  block.write(name, 0);
  block.write(octal(entry.type === 'symlink' ? 0o777 : entry.mode, 8), 100);
  block.write(octal(0, 8), 108);
  block.write(octal(0, 8), 116);
  block.write(octal(size, 12), 124);
  block.write(octal(0, 12), 136);
  block.write(' '.repeat(8), 148);
  block.write(TYPES[entry.type], 156);
  if (entry.type === 'symlink') block.write(entry.target, 157);
  block.write('ustar\0', 257);
  block.write('00', 263);
  block.write(prefix, 345);
  const checksum = block.reduce((sum, byte) => sum + byte, 0);
  block.write(`${octal(checksum, 7)}\0 `.slice(0, 8), 148);
  return block;
}

/** A number as `width` bytes, the last of which is NUL. */
function octal(value: number, width: number): string {
  return `${value.toString(8).padStart(width - 1, '0')}\0`;
}

/** Splits a path at a slash: the end goes into the 100 bytes of the name, the rest into the prefix. */
function splitName(path: string): [prefix: string, name: string] {
  if (Buffer.byteLength(path) <= 100) return ['', path];
  const cut = path.indexOf('/', path.length - 101);
  const [prefix, name] = [path.slice(0, cut), path.slice(cut + 1)];
  if (Buffer.byteLength(prefix) > 155 || Buffer.byteLength(name) > 100 || name === '')
    throw new Error(`${path}: too long for a tar header`);
  return [prefix, name];
}

function padding(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}

/** The files, links and directories of an archive whose path, without a `./`, is wanted. Reads ustar and GNU tar. */
export function readTar(archive: Buffer, wanted: (path: string) => boolean): Tree {
  const tree: Tree = new Map();
  let longName: string | undefined;
  for (let at = 0; at + BLOCK <= archive.length && archive[at] !== 0; ) {
    const type = text(archive, at + 156, 1) || TYPES.file;
    const size = Number.parseInt(text(archive, at + 124, 12), 8);
    const content = archive.subarray(at + BLOCK, at + BLOCK + size);
    const [prefix, name] = [text(archive, at + 345, 155), text(archive, at, 100)];
    const isUstar = text(archive, at + 257, 8) === 'ustar';
    const path = (longName ?? (isUstar && prefix ? `${prefix}/${name}` : name)).replace(/^\.\/|\/$/g, '');
    longName = type === LONG_NAME ? content.toString().replace(/\0+$/, '') : undefined;
    const entry = entryOf(type, archive, at, content);
    if (entry && wanted(path)) tree.set(path, entry);
    at += BLOCK + size + padding(size);
  }
  return tree;
}

function entryOf(type: string, archive: Buffer, at: number, content: Buffer): Entry | undefined {
  const mode = Number.parseInt(text(archive, at + 100, 8), 8) & 0o7777;
  if (type === TYPES.file) return { type: 'file', mode, content };
  if (type === TYPES.symlink) return { type: 'symlink', target: text(archive, at + 157, 100) };
  if (type === TYPES.directory) return { type: 'directory', mode };
  return undefined;
}

/** A field of a header, up to its first NUL. */
function text(archive: Buffer, start: number, length: number): string {
  const field = archive.subarray(start, start + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end === -1 ? length : end);
}
