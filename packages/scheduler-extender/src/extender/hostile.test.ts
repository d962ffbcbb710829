import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { Registry } from '@rollcall/common/metrics.ts';
import { fuzzRuns } from '@rollcall/common/testing/fuzz.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { busy, node } from '../scoring/scheduler.test-fixtures.ts';
import { deskOver, nodeJson, readPod, workspaceJson } from './extender.test-fixtures.ts';
import { createExtenderMetrics } from './metrics.ts';
import { createResponder } from './responder.ts';
import type { ExtenderResponse, Verb } from './response.ts';

const RUNS = fuzzRuns(15_000);

const VERBS: readonly Verb[] = ['filter', 'prioritize', 'preempt', 'predicates'];
const known = new Map(
  [node({ name: 'a' }), node({ name: 'b', ...busy(10) }), node({ name: 'c', labels: {} })].map((one) => [
    one.name,
    one,
  ]),
);
const respond = createResponder({
  handler: deskOver(known),
  readPod,
  leader: () => undefined,
  nodes: () => known.size,
  metrics: createExtenderMetrics(new Registry()),
});

const NO_CONNECTION = new Socket();

/** A request without a connection: thousands of them a second. */
function requestOf(body: Buffer): IncomingMessage {
  const request = new IncomingMessage(NO_CONNECTION);
  request.headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
  request.push(body);
  request.push(null);
  return request;
}

async function answerTo(verb: Verb, body: Buffer): Promise<{ status: number; document: unknown }> {
  const closers: (() => void)[] = [];
  const { signal } = new AbortController();
  const question = {
    verb,
    path: '',
    request: requestOf(body),
    signal,
    onClosed: (close: () => void) => closers.push(close),
  };
  const answer = await respond(question);
  const document: unknown = JSON.parse(textOf(answer));
  for (const close of closers) close();
  return { status: answer.status, document };
}

function textOf({ body }: ExtenderResponse): string {
  if (typeof body !== 'string') throw new Error('An answer of this replica is text');
  return body;
}

/** What is wrong with an answer; nothing for one that the scheduler can read, or a refusal. */
function problemWith(verb: Verb, { status, document }: { status: number; document: unknown }): string | undefined {
  if (status >= 400 && status < 500) return undefined;
  if (status !== 200) return `has status ${status}`;
  if (verb === 'prioritize') {
    const scores = (document as { Score: unknown }[]).map(({ Score }) => Score);
    return scores.every((score) => Number.isInteger(score)) ? undefined : 'has odd scores';
  }
  const keys = Object.keys(document as object).join();
  if (verb === 'preempt') return keys === 'NodeNameToMetaVictims' ? undefined : `has the keys ${keys}`;
  return keys === 'Nodes,NodeNames,FailedNodes,FailedAndUnresolvableNodes,Error' ? undefined : `has the keys ${keys}`;
}

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const items = ['a', 'b', 'c', 'd'].map((name) => nodeJson(name, { 'gitpod.io/workload_workspace_regular': 'true' }));
const SEEDS = [
  { Pod: workspaceJson(), Nodes: null, NodeNames: ['a', 'b', 'c', 'd'] },
  { Pod: workspaceJson({ headless: 'true' }), Nodes: { metadata: {}, items }, NodeNames: null },
  { Pod: { metadata: { name: 'web' } }, NodeNames: ['a'] },
  { Pod: workspaceJson(), NodeNameToMetaVictims: { a: { Pods: [{ UID: 'u' }] }, b: { Pods: [] } } },
].map((seed) => Buffer.from(JSON.stringify(seed)));
const SCRAPS = [
  'null',
  '{}',
  '[]',
  '"',
  '\\',
  '}',
  ']',
  ',',
  ':',
  '1e999',
  '\u00e9',
  '"items":',
  '"metadata":null',
  '\ud83d',
].map((scrap) => Buffer.from(scrap));

/** A proper question with a few faults, or none. */
function mutated(random: () => number): Buffer {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  let body = Buffer.from(pick(SEEDS));
  for (let faults = Math.floor(random() * 4); faults > 0; faults -= 1) {
    const at = Math.floor(random() * body.length);
    const kind = random();
    if (kind < 0.3) body[at] = Math.floor(random() * 256);
    else if (kind < 0.4) body = body.subarray(0, at);
    else if (kind < 0.7) body = Buffer.concat([body.subarray(0, at), pick(SCRAPS), body.subarray(at)]);
    else body = Buffer.concat([body.subarray(0, at), body.subarray(at + Math.floor(random() * 40))]);
  }
  return body;
}

function isJson(body: Buffer): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
    return true;
  } catch {
    return false;
  }
}

test(
  'a proper question with faults gets an answer that is JSON, or is refused, and what is not JSON always is',
  async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const random = generator(seed);
    const seen = { answered: 0, refused: 0 };
    for (let run = 0; run < RUNS; run += 1) {
      const verb = VERBS[run % VERBS.length] ?? 'filter';
      const body = mutated(random);
      const where = `seed ${seed}, run ${run}: ${verb} ${body.toString('latin1')}`;
      const reply = await answerTo(verb, body).catch((err: unknown) => {
        throw new Error(where, { cause: err });
      });
      const refused =
        reply.status !== 200 || (verb === 'predicates' && (reply.document as { Error: string }).Error !== '');
      seen[refused ? 'refused' : 'answered'] += 1;
      const problem = problemWith(verb, reply) ?? (refused || isJson(body) ? undefined : 'takes what is not JSON');
      if (problem !== undefined) expect.fail(`${problem} — ${where}`);
    }
    expect(seen.answered).toBeGreaterThan(RUNS / 10);
    expect(seen.refused).toBeGreaterThan(RUNS / 10);
  },
  // Ten times what it takes on two busy cores.
  RUNS * 10,
);

test('a question of proper form with anything inside is answered', async () => {
  const labels = fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.jsonValue()));
  const metadata = fc.option(fc.record({ name: fc.jsonValue(), labels }, { requiredKeys: [] }));
  const object = fc.record({ metadata, spec: fc.jsonValue() }, { requiredKeys: [] });
  const question = fc.record(
    {
      Pod: object,
      Nodes: fc.option(
        fc.record({ metadata: fc.jsonValue(), items: fc.option(fc.array(object)) }, { requiredKeys: [] }),
      ),
      NodeNames: fc.array(fc.string({ unit: 'binary' })),
      NodeNameToMetaVictims: fc.dictionary(fc.string(), fc.jsonValue()),
    },
    { requiredKeys: ['Pod', 'NodeNames', 'NodeNameToMetaVictims'] },
  );
  await fc.assert(
    fc.asyncProperty(question, fc.constantFrom(...VERBS), async (asked, verb) => {
      const reply = await answerTo(verb, Buffer.from(JSON.stringify(asked)));
      expect(reply.status).toBe(200);
      expect(problemWith(verb, reply)).toBeUndefined();
      if (verb === 'filter') expect(told(reply.document)).toEqual(new Set(asked.NodeNames));
    }),
    { numRuns: fuzzRuns(300) },
  );
});

/** Every node that an answer of the filter says something of. */
function told(document: unknown): Set<string> {
  const { NodeNames, FailedAndUnresolvableNodes } = document as Record<string, object | null> & { NodeNames: string[] };
  return new Set([...NodeNames, ...Object.keys(FailedAndUnresolvableNodes ?? {})]);
}
