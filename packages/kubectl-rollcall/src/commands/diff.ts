import { cleanDocument } from '@rollcall/common/clean.ts';
import type { DiffDocument } from '@rollcall/common/console.ts';
import { diffText } from '../diff/diff-text.ts';
import { readFiles } from '../diff/read-files.ts';
import { tryApply } from '../diff/try-apply.ts';
import { EXIT } from '../failure.ts';
import { mustLead, printedFor, type Surroundings } from '../surroundings.ts';

/** As with `kubectl diff`, differences are told by the exit code. Returns it. */
export async function diff(surroundings: Surroundings, files: readonly string[]): Promise<number> {
  const request = readFiles(files);
  const answer = await surroundings.withConsole((console) => console.post<DiffDocument>('/v1/diff', request));
  const tried = await tryApply(request.objects, surroundings.kube, surroundings.flags.namespace);
  const document = {
    ...answer,
    problems: [...answer.problems, ...tried.problems],
    notes: [...answer.notes, ...tried.notes],
  };
  if (!printedFor(surroundings, document)) {
    mustLead(surroundings, document.replica);
    surroundings.print(diffText(cleanDocument(document), surroundings.terminal));
  }
  if (!document.replica.leading) return EXIT.unknown;
  return document.nodes.length === 0 && document.problems.length === 0 ? EXIT.ok : EXIT.notSo;
}
