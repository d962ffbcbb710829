import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '../tidy/sources.ts';
import { inCopy } from './copy.ts';
import { type Mutant, tryMutant } from './try-mutant.ts';

export type NamedMutant = {
  /** Description of the defect. */
  name: string;
  file: string;
  /** Occurs once in the file. */
  from: string;
  to: string;
  /** The file of unit tests that must catch it. */
  caughtBy: string;
};

const SRC = 'coordinator/src';

/**
 * Mutants whose survival would let a label lie, two replicas write at once, or agents be shut out. They are tried by
 * name in every run, whatever a sample happens to choose. Some of them no single mutation makes.
 */
export const NAMED: readonly NamedMutant[] = [
  {
    name: 'a renewal of the Lease counts from its answer, not from its sending',
    file: `${SRC}/term/lease.ts`,
    from: 'this.#leadership.extend(startedAt);',
    to: 'this.#leadership.extend(this.#options.clock.monotonic());',
    caughtBy: `${SRC}/term/lease.test.ts`,
  },
  {
    name: 'the taking of the Lease counts from its answer, not from its sending',
    file: `${SRC}/term/lease.ts`,
    from: 'this.#leadership.start(term, startedAt);',
    to: 'this.#leadership.start(term, clock.monotonic());',
    caughtBy: `${SRC}/term/lease.test.ts`,
  },
  {
    name: 'leadership begins by an answer that is older than the deadline',
    file: `${SRC}/term/leadership.ts`,
    from: 'if (this.fencedInMs() === 0) return;',
    to: '',
    caughtBy: `${SRC}/term/leadership.test.ts`,
  },
  {
    name: 'leadership that has ended is ended again',
    file: `${SRC}/term/leadership.ts`,
    from: 'if (this.#term === undefined) return;\n    const term',
    to: 'const term',
    caughtBy: `${SRC}/term/leadership.test.ts`,
  },
  {
    name: 'leadership that has run out is extended',
    file: `${SRC}/term/leadership.ts`,
    from: 'this.check();',
    to: 'if (false) this.check();',
    caughtBy: `${SRC}/term/leadership.test.ts`,
  },
  {
    name: 'leadership that runs out is not ended',
    file: `${SRC}/term/leadership.ts`,
    from: 'if (this.remainingMs() > 0) this.#armTimer();',
    to: 'this.#armTimer();',
    caughtBy: `${SRC}/term/leadership.test.ts`,
  },
  {
    name: 'an older record of the Lease replaces a newer one',
    file: `${SRC}/term/lease-observer.ts`,
    from: 'if (this.#isOutdated(lease, askedAt)) return false;',
    to: '',
    caughtBy: `${SRC}/term/lease-observer.test.ts`,
  },
  {
    name: 'a record that was touched begins a new lease',
    file: `${SRC}/term/lease-observer.ts`,
    from: 'if (print === this.#fingerprint) return false;',
    to: '',
    caughtBy: `${SRC}/term/lease-observer.test.ts`,
  },
  {
    name: 'a Lease that was made anew is not waited out',
    file: `${SRC}/term/lease-observer.ts`,
    from: 'return this.#wasEverHeld ? now + this.#options.leaseDurationMs : this.#othersUntil;',
    to: 'return this.#othersUntil;',
    caughtBy: `${SRC}/term/lease-observer.test.ts`,
  },
  {
    name: 'a holder is believed a lease that is shorter than our own',
    file: `${SRC}/term/lease-observer.ts`,
    from: 'return now + Math.max(state.durationMs, leaseDurationMs);',
    to: 'return now + state.durationMs;',
    caughtBy: `${SRC}/term/lease-observer.test.ts`,
  },
  {
    name: 'the audience of a token is not compared',
    file: `${SRC}/kube/token-review.ts`,
    from: 'if (!status.audiences?.includes(audience))',
    to: 'if (false)',
    caughtBy: `${SRC}/kube/token-review.test.ts`,
  },
  {
    name: 'a node that was never heard counts in the guard of the fleet',
    file: `${SRC}/state/guard.ts`,
    from: "count(counts === 'always' ? this.#counted : this.#others, isLosing);",
    to: 'count(this.#counted, isLosing);',
    caughtBy: `${SRC}/state/guard.test.ts`,
  },
  {
    name: 'a node that was never heard counts in the guard of its pool',
    file: `${SRC}/state/guard.ts`,
    from: "if (pool === undefined || counts !== 'always') return;",
    to: 'if (pool === undefined) return;',
    caughtBy: `${SRC}/state/guard.test.ts`,
  },
  {
    name: 'a goodbye gives time again',
    file: `${SRC}/state/freshness.ts`,
    from: 'presence.hasVoice = false;',
    to: '',
    caughtBy: `${SRC}/state/freshness.test.ts`,
  },
  {
    name: 'a goodbye makes an agent count again that is silent',
    file: `${SRC}/state/freshness.ts`,
    from: 'presence.hasVoice && !isSilent',
    to: 'presence.hasVoice',
    caughtBy: `${SRC}/state/fleet-silence.test.ts`,
  },
  {
    name: 'a node is silent before guards have counted it',
    file: `${SRC}/state/presence.ts`,
    from: 'nowMs >= silentMs - windowMs / 2',
    to: 'nowMs >= silentMs',
    caughtBy: `${SRC}/state/freshness.model.test.ts`,
  },
  {
    name: 'a node that a guard lets go has no window of its own',
    file: `${SRC}/state/freshness.ts`,
    from: 'isExpected && isLosing && renew(presence, nowMs);',
    to: 'isExpected && isLosing;',
    caughtBy: `${SRC}/state/freshness.test.ts`,
  },
  {
    name: 'a node whose agent is gone at take-over counts as one without an agent',
    file: `${SRC}/state/agent-signs.ts`,
    from: 'hasPod || isShown',
    to: 'hasPod',
    caughtBy: `${SRC}/state/fleet-terms.test.ts`,
  },
  {
    name: 'the pod of an agent of an earlier Node says that the node was heard',
    file: `${SRC}/state/agent-signs.ts`,
    from: 'ready && createdAtMs >= node.createdAtMs',
    to: 'ready',
    caughtBy: `${SRC}/state/fleet-silence.test.ts`,
  },
  {
    name: 'a wrong wall clock opens the startup gate of a new node',
    file: `${SRC}/decide/gate-waits.ts`,
    from: 'cameMs ?? nowMs - Math.max(0, ageMs)',
    to: 'nowMs - Math.max(0, ageMs)',
    caughtBy: `${SRC}/decide/gate-waits.test.ts`,
  },
  {
    name: 'a slow wall clock keeps the startup gate closed',
    file: `${SRC}/decide/gate-waits.ts`,
    from: 'Math.max(0, ageMs)',
    to: 'ageMs',
    caughtBy: `${SRC}/decide/gate-waits.test.ts`,
  },
  {
    name: 'a pod of an agent that terminates counts as an agent',
    file: `${SRC}/state/agent-signs.ts`,
    from: '.filter(({ terminating }) => !terminating)',
    to: '',
    caughtBy: `${SRC}/state/fleet.test.ts`,
  },
  {
    name: 'a node that reported is not expected any more when its pod is gone',
    file: `${SRC}/state/fleet.ts`,
    from: 'before !== undefined || this.agentPods.on(node).length > 0',
    to: 'this.agentPods.on(node).length > 0',
    caughtBy: `${SRC}/state/fleet.test.ts`,
  },
  {
    name: 'an empty address is handed to an agent',
    file: `${SRC}/state/probe-targets.ts`,
    from: "bestOf(pods, (pod) => addressOf(pod, host) !== '')",
    to: 'bestOf(pods, () => true)',
    caughtBy: `${SRC}/state/probe-targets.test.ts`,
  },
  {
    name: 'a pod that terminates is preferred',
    file: `${SRC}/state/probe-targets.ts`,
    from: '(terminating ? 0 : 2)',
    to: '(terminating ? 2 : 0)',
    caughtBy: `${SRC}/state/probe-targets.test.ts`,
  },
  {
    name: 'a value of another client is forced with the map that it is in',
    file: `${SRC}/write/node-turn.ts`,
    from: 'return value === undefined || value === valueIn(set, ref);',
    to: 'return true;',
    caughtBy: `${SRC}/write/write-queue.test.ts`,
  },
  {
    name: 'the next authority signs before it can be known',
    file: `${SRC}/tls/rotation.ts`,
    from: 'if (nowMs < propagatedAtMs(state, policy)) return undefined;\n  return { action',
    to: 'return { action',
    caughtBy: `${SRC}/tls/rotation.test.ts`,
  },
  {
    name: 'an authority that another client put there signs before it can be known',
    file: `${SRC}/tls/rotation.ts`,
    from: 'if (leaf.issuer !== authority.fingerprint && nowMs < propagatedAtMs(state, policy)) return undefined;',
    to: '',
    caughtBy: `${SRC}/tls/rotation.test.ts`,
  },
  {
    name: 'certificates are signed before their authority is published',
    file: `${SRC}/tls/rotation.ts`,
    from: 'if (publication) return publication;',
    to: '',
    caughtBy: `${SRC}/tls/rotation.test.ts`,
  },
  {
    name: 'a timer is set for months',
    file: `${SRC}/tls/certificate-store.ts`,
    from: 'Math.min(delayMs, LOOK_AGAIN_MS)',
    to: 'delayMs',
    caughtBy: `${SRC}/tls/certificate-store.test.ts`,
  },
  {
    name: 'a question that was passed on is cut off when its answer has begun',
    file: `${SRC}/term/leader/ask-leader.ts`,
    from: "outgoing.once('response', (response) => {\n      cancel();",
    to: "outgoing.once('response', (response) => {",
    caughtBy: `${SRC}/term/leader/ask-leader.test.ts`,
  },
  {
    name: 'a question that was passed on is waited for without end',
    file: `${SRC}/term/leader/ask-leader.ts`,
    from: 'clock.after(timeoutMs, abort)',
    to: 'clock.after(timeoutMs, () => {})',
    caughtBy: `${SRC}/term/leader/ask-leader.test.ts`,
  },
  {
    name: 'an agent repeats what it saw before it stood still',
    file: 'agent/src/probes/service-monitor.ts',
    from: 'return this.#stoodStill() ? undefined : this.#tally.state;',
    to: 'return this.#tally.state;',
    caughtBy: 'agent/src/probes/service-monitor.test.ts',
  },
  {
    name: 'what counts towards a verdict outlives a standstill',
    file: 'agent/src/probes/service-monitor.ts',
    from: 'this.#tally = NOTHING_KNOWN;\n    this.#calmSinceMs',
    to: 'this.#calmSinceMs',
    caughtBy: 'agent/src/probes/service-monitor.test.ts',
  },
];

const LIMIT_MS = 300_000;

/** The mutation of the text of its file. Throws where `from` does not occur once. */
export function mutantOf({ name, file, from, to }: NamedMutant, text: string): Mutant {
  const start = text.indexOf(from);
  if (start < 0 || text.indexOf(from, start + 1) >= 0) throw new Error(`${file} does not have once: ${from}`);
  const line = text.slice(0, start).split('\n').length;
  return { file, start, end: start + from.length, replacement: to, line, what: name };
}

/** Whether the tests named for them notice every one of them. */
export async function runNamed(say: (line: string) => void, part = ''): Promise<boolean> {
  const chosen = NAMED.filter(({ name, file }) => name.includes(part) || file.includes(part));
  let killed = 0;
  await inCopy(async (copy) => {
    for (const named of chosen) {
      const mutant = mutantOf(named, readFileSync(path.join(ROOT, named.file), 'utf8'));
      const run = await tryMutant(copy, mutant, { limitMs: LIMIT_MS, tests: [{ paths: [named.caughtBy] }] });
      if (run.result !== 'passed') killed += 1;
      const by = run.result === 'failed' ? (run.by ?? 'no test; a file could not be loaded') : run.result;
      say(`  ${run.result === 'passed' ? 'SURVIVED' : 'killed'}  ${mutant.file}:${mutant.line}: ${named.name}: ${by}`);
    }
  });
  say(`${killed} of ${chosen.length} named mutants killed`);
  return killed === chosen.length && killed > 0;
}
