import { cleanDocument } from '@rollcall/common/clean.ts';
import { runChecks } from '../check/check.ts';
import { checkReport, checkText } from '../check/check-text.ts';
import { CHECKS, PRE_CHECKS } from '../check/checks.ts';
import { gather } from '../check/evidence.ts';
import { CommandFailure, EXIT } from '../failure.ts';
import { printedFor, type Surroundings } from '../surroundings.ts';

/** `isPre`: of a cluster that has no rollcall yet. Returns the exit code. */
export async function check(surroundings: Surroundings, isPre: boolean): Promise<number> {
  const { kube, flags, terminal, print } = surroundings;
  if (flags.consoleUrl !== undefined) {
    const cure = 'leave out --console-url; choose the cluster with --context or --kubeconfig';
    throw new CommandFailure('check reads the API server only, and not a console', cure, { exitCode: EXIT.usage });
  }
  const evidence = await gather(kube(), flags.namespace, Date.now());
  const report = checkReport(await runChecks(isPre ? PRE_CHECKS : CHECKS, evidence), isPre);
  if (!printedFor(surroundings, report)) print(checkText(cleanDocument(report), terminal));
  return report.isWell ? EXIT.ok : EXIT.notSo;
}
