import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { VERSION } from '@rollcall/common/version.ts';
import { fillBlock } from './blocks.ts';
import { chartBlocks, chartFiles } from './chart/files.ts';
import { apiBlocks } from './manifests/api-table.ts';
import { manifestFiles } from './manifests/files.ts';
import { ownRightsBlock, watchRightsBlock } from './manifests/watch-rights.ts';
import { monitoringBlocks, monitoringFiles } from './monitoring/files.ts';
import { referenceBlocks } from './reference.ts';
import { ruleFiles } from './rules/files.ts';

/** Writes what is generated: blocks of documents, manifests, and rule files. With `--check` only says what is out of date, and fails. */
const root = path.resolve(import.meta.dirname, '../..');
const check = process.argv.includes('--check');
const stale: string[] = [];

function bring(file: string, name: string, generate: (before: string | undefined) => string): void {
  const target = path.join(root, file);
  const before = textOf(target);
  const after = generate(before);
  if (after === before) return;
  stale.push(name);
  if (check) return;
  mkdirSync(path.dirname(target), { recursive: true });
  writeFileSync(target, after);
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

for (const block of [
  ...(await referenceBlocks()),
  ...apiBlocks(),
  ...chartBlocks(),
  ...monitoringBlocks(),
  watchRightsBlock(),
  ownRightsBlock(),
]) {
  bring(block.file, `${block.file}: ${block.name}`, (before = '') => fillBlock(before, block));
}
for (const { file, content } of [...manifestFiles(), ...ruleFiles(), ...chartFiles(), ...monitoringFiles()])
  bring(file, file, () => content);

// Published to a package registry, which wants it there.
bring('packages/kubectl-rollcall/package.json', 'packages/kubectl-rollcall/package.json: version', (before = '') =>
  before.replace(/^ {2}"version": ".*"/m, `  "version": "${VERSION}"`),
);

if (stale.length > 0) {
  const lines = stale.map((entry) => `  ${entry}\n`).join('');
  process.stdout.write(check ? `Out of date, run npm run generate:\n${lines}` : `Generated:\n${lines}`);
  if (check) process.exitCode = 1;
}
