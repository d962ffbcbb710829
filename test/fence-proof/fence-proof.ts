import { spawnSync } from 'node:child_process';
import type { Environment } from '../control-plane/environment.ts';
import { type Outcome, run } from '../control-plane/run.ts';

const DIR = import.meta.dirname;
const argumentsOf = (args: readonly string[]) => ['run', '.', ...args];
const variablesOf = ({ variables }: Environment) => ({ ...variables, CGO_ENABLED: '0' });

/** Builds the program with Go, which keeps what it built, runs it, and returns what it printed. */
export function proveFence(args: readonly string[], environment: Environment): Promise<Outcome> {
  return run(environment.goCommand, argumentsOf(args), variablesOf(environment), { cwd: DIR });
}

/** The same for people: what it prints appears while it runs. Returns its exit code. */
export function exitOfProof(args: readonly string[], environment: Environment): number {
  const options = { cwd: DIR, env: variablesOf(environment), stdio: 'inherit' } as const;
  return spawnSync(environment.goCommand, argumentsOf(args), options).status ?? 1;
}
