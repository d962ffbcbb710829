import type { Finding } from '../findings.ts';
import { type Evidence, Unread } from './evidence.ts';

/** Checks one thing. Returns what it finds, or a sentence on what is well. */
export type Check = (evidence: Evidence) => Promise<Result> | Result;

export type Result = { well: string } | { findings: readonly Finding[] };

/** All of them, in their order. What cannot be read is a finding. */
export async function runChecks(checks: readonly Check[], evidence: Evidence): Promise<Result[]> {
  const results: Result[] = [];
  for (const check of checks) results.push(await runCheck(check, evidence));
  return results;
}

async function runCheck(check: Check, evidence: Evidence): Promise<Result> {
  try {
    return await check(evidence);
  } catch (error) {
    if (!(error instanceof Unread)) throw error;
    // That it is not there is for another check to say.
    if (error.isMissing) return { findings: [] };
    const cure = 'ask for this right, or run the check with an account that has it';
    return { findings: [{ severity: 'warn', text: `Cannot check everything: ${error.message}`, cure }] };
  }
}

/** The findings, or what is well where there are none. */
export function result(findings: readonly Finding[], well: string): Result {
  return findings.length > 0 ? { findings } : { well };
}
