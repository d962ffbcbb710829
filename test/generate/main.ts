import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fillBlock } from './blocks.ts';
import { referenceBlocks } from './reference.ts';

/** Writes what is generated into the documents; with `--check` only says what is out of date, and fails. */
const root = path.resolve(import.meta.dirname, '../..');
const check = process.argv.includes('--check');
const stale: string[] = [];
for (const block of await referenceBlocks()) {
  const file = path.join(root, block.file);
  const before = readFileSync(file, 'utf8');
  const after = fillBlock(before, block);
  if (after === before) continue;
  stale.push(`${block.file}: ${block.name}`);
  if (!check) writeFileSync(file, after);
}
if (stale.length > 0) {
  const lines = stale.map((entry) => `  ${entry}\n`).join('');
  process.stdout.write(check ? `Out of date, run npm run generate:\n${lines}` : `Generated:\n${lines}`);
  if (check) process.exitCode = 1;
}
