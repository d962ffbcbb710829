const MAGIC = Buffer.from('\x7fELF\x02\x01', 'latin1');
/** Offsets of fields in the 64-bit ELF header. */
const OFFSET = { programHeaders: 32, sections: 40, programHeaderSize: 54, programHeaderCount: 56, sectionCount: 60 };

/**
 * Takes off what is only for debuggers: the section headers, and everything behind the last segment that is loaded
 * (symbols, DWARF). Neither the kernel nor the dynamic loader reads it; the symbols for native addons are in a segment.
 * @throws for anything but a 64-bit little-endian ELF file.
 */
export function stripElf(file: Buffer): Buffer {
  if (!file.subarray(0, MAGIC.length).equals(MAGIC)) throw new Error('not a 64-bit little-endian ELF file');
  const first = Number(file.readBigUInt64LE(OFFSET.programHeaders));
  const size = file.readUInt16LE(OFFSET.programHeaderSize);
  const count = file.readUInt16LE(OFFSET.programHeaderCount);
  let end = first + count * size;
  for (let at = first; at < first + count * size; at += size) {
    end = Math.max(end, Number(file.readBigUInt64LE(at + 8) + file.readBigUInt64LE(at + 32)));
  }
  const stripped = Buffer.from(file.subarray(0, end));
  stripped.writeBigUInt64LE(0n, OFFSET.sections);
  stripped.writeUInt16LE(0, OFFSET.sectionCount);
  stripped.writeUInt16LE(0, OFFSET.sectionCount + 2);
  return stripped;
}
