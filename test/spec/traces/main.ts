import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { CODE_MUTANTS } from './code-mutants.ts';

/** Prints traces as JSON, one a line: `main.ts FROM_SEED COUNT [MUTANT]`, with this change of the code if one is named. */
const [fromSeed = '1', count = '1', name] = process.argv.slice(2);

const ROOT = path.join(import.meta.dirname, '../../..');
const mutant = CODE_MUTANTS.find((each) => each.name === name);
if (name !== undefined && !mutant) throw new Error(`There is no mutant "${name}"`);
if (mutant) {
  const file = path.join(ROOT, mutant.file);
  const text = readFileSync(file, 'utf8');
  if (text.split(mutant.from).length !== 2) throw new Error(`"${mutant.from}" does not occur once in ${mutant.file}`);
  const source = text.replace(mutant.from, () => mutant.to);
  const changed = pathToFileURL(file).href;
  registerHooks({
    load: (url, context, next) => (url === changed ? { ...next(url, context), source } : next(url, context)),
  });
}
const { recordTrace } = await import('./trace.ts');
for (let index = 0; index < Number(count); index += 1) {
  process.stdout.write(`${JSON.stringify(await recordTrace(Number(fromSeed) + index))}\n`);
}
