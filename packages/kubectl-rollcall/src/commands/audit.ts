import { cleanDocument } from '@rollcall/common/clean.ts';
import type { AuditDocument } from '@rollcall/common/console.ts';
import { auditText } from '../audit/audit-text.ts';
import { EXIT } from '../failure.ts';
import { mustLead, printedFor, type Surroundings } from '../surroundings.ts';

/** Returns the exit code. */
export async function audit(surroundings: Surroundings): Promise<number> {
  const document = await surroundings.withConsole((console) => console.get<AuditDocument>('/v1/audit'));
  if (!printedFor(surroundings, document)) {
    mustLead(surroundings, document.replica);
    surroundings.print(auditText(cleanDocument(document), surroundings.terminal, surroundings.isWide).text);
  }
  if (!document.replica.leading) return EXIT.unknown;
  return document.keys.every(({ nodesNow }) => nodesNow === 0) ? EXIT.ok : EXIT.notSo;
}
