import type { AuditDocument } from '@rollcall/common/console.ts';
import { auditText } from '../audit/audit-text.ts';
import { CommandFailure, EXIT } from '../failure.ts';
import { printedFor, type Surroundings } from '../surroundings.ts';
import { cleanDocument } from '../text/clean.ts';

/** Returns the exit code. */
export async function audit(surroundings: Surroundings): Promise<number> {
  const document = await surroundings.withConsole((console) => console.get<AuditDocument>('/v1/audit'));
  if (!document) throw new CommandFailure('This coordinator keeps no truth ledger', 'update rollcall');
  if (!printedFor(surroundings, document)) {
    surroundings.print(auditText(cleanDocument(document), surroundings.terminal, surroundings.isWide).text);
  }
  if (!document.replica.leading) return EXIT.unknown;
  return document.keys.every(({ nodesNow }) => nodesNow === 0) ? EXIT.ok : EXIT.notSo;
}
