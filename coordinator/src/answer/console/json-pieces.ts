import type { Writable } from 'node:stream';
import { drained } from './drained.ts';
import { Slices } from './slices.ts';

/** A document whose one long list is made while it is written. */
export type LongDocument = {
  /** All of it but the list. */
  head: object;
  list: string;
  /** What is `undefined` is left out: it only gives others a turn. */
  items: Iterable<unknown>;
};

/** Bytes that are handed over at once. */
const PIECE_BYTES = 32_768;

/**
 * Writes a document as JSON, an item a line, without holding the loop or keeping more of it than the reader takes. Returns
 * early where the reader is gone.
 */
export async function writePieces(document: LongDocument, to: Writable): Promise<void> {
  const slices = new Slices();
  const head = JSON.stringify(document.head).slice(0, -1);
  let piece = `${head}${head === '{' ? '' : ','}\n${JSON.stringify(document.list)}: [`;
  let isFirst = true;
  for (const item of document.items) {
    if (item !== undefined) {
      piece += `${isFirst ? '' : ','}\n${JSON.stringify(item)}`;
      isFirst = false;
    }
    await slices.pause();
    if (piece.length < PIECE_BYTES) continue;
    if (!(await hand(piece, to))) return;
    piece = '';
  }
  to.end(`${piece}\n]}\n`);
}

/** Whether the reader is still there. */
async function hand(piece: string, to: Writable): Promise<boolean> {
  if (to.destroyed) return false;
  if (to.write(piece)) return true;
  await drained(to);
  return !to.destroyed;
}
