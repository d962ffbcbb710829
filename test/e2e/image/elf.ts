/** Offsets in the header of a 64-bit ELF file, and tags of its dynamic section. */
const MACHINE = 18;
const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const PT_INTERP = 3;
const DT_NEEDED = 1n;
const DT_STRTAB = 5n;

export const ELF_MACHINES = { amd64: 62, arm64: 183 } as const;

export type ElfFile = {
  machine: number;
  /** Path of the dynamic loader, of programs. */
  interpreter: string | undefined;
  /** Names of the libraries that the loader has to find. */
  needed: string[];
};

type Segment = { type: number; offset: number; address: number; size: number };

/** What the dynamic loader reads of a program or library for any processor; `undefined` for other files. */
export function readElf(file: Buffer): ElfFile | undefined {
  if (file.toString('latin1', 0, 4) !== '\x7fELF') return undefined;
  const segments = segmentsOf(file);
  const interpreter = segments.find(({ type }) => type === PT_INTERP);
  return {
    machine: file.readUInt16LE(MACHINE),
    interpreter: interpreter && textAt(file, interpreter.offset),
    needed: neededOf(file, segments),
  };
}

function segmentsOf(file: Buffer): Segment[] {
  const first = Number(file.readBigUInt64LE(32));
  const size = file.readUInt16LE(54);
  return Array.from({ length: file.readUInt16LE(56) }, (_, index) => {
    const at = first + index * size;
    const number = (offset: number) => Number(file.readBigUInt64LE(at + offset));
    return { type: file.readUInt32LE(at), offset: number(8), address: number(16), size: number(32) };
  });
}

function neededOf(file: Buffer, segments: readonly Segment[]): string[] {
  const dynamic = segments.find(({ type }) => type === PT_DYNAMIC);
  if (!dynamic) return [];
  const entries = Array.from({ length: dynamic.size / 16 }, (_, index) => {
    const at = dynamic.offset + index * 16;
    return { tag: file.readBigUInt64LE(at), value: Number(file.readBigUInt64LE(at + 8)) };
  });
  const address = entries.find(({ tag }) => tag === DT_STRTAB)?.value ?? 0;
  const holder = segments.find(
    ({ type, address: start, size }) => type === PT_LOAD && start <= address && address < start + size,
  );
  if (!holder) throw new Error('no segment holds the string table');
  const strings = address - holder.address + holder.offset;
  return entries.filter(({ tag }) => tag === DT_NEEDED).map(({ value }) => textAt(file, strings + value));
}

function textAt(file: Buffer, start: number): string {
  return file.toString('latin1', start, file.indexOf(0, start));
}
