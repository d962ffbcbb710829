import { nodeSummary, replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import type { NodeSummary, ReplicaDocument } from '@rollcall/common/console.ts';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { run } from '../testing/run.test-fixtures.ts';
import { Status } from '../testing/stand-in.test-fixtures.ts';

const nodes = (node: Partial<NodeSummary>, replica: Partial<ReplicaDocument> = {}) => ({
  replica: replicaDocument(replica),
  nodes: [nodeSummary(node)],
});
const WELL = nodes({});
const PENDING = nodes({ pending: true });
const status = (answer: unknown, ...flags: string[]) => run(['status', ...flags], { '/v1/nodes': answer });

/** One answer after the other, and then the last for good. */
function inTurn(...answers: readonly unknown[]): () => unknown {
  const left = [...answers];
  return () => (left.length > 1 ? left.shift() : left[0]);
}

describe('status', () => {
  test('exits with 0 where all nodes are as they should be, with 1 where not, and with 3 at a standby', async () => {
    const standby = await status(nodes({}, { leading: false }));
    expect([(await status(WELL)).exitCode, (await status(PENDING)).exitCode, standby.exitCode]).toEqual([0, 1, 3]);
  });

  test('prints a document where one is asked for, and the exit code is the same', async () => {
    const json = await status(PENDING, '-o', 'json');
    expect(JSON.parse(json.text)).toMatchObject({ holds: false, nodes: 1 });
    expect(json.exitCode).toBe(1);
    expect((await status(WELL, '-o', 'yaml')).text).toMatch(/^holds: true\n/);
  });

  test('prints text that can move no cursor', async () => {
    const { text } = await status(nodes({ contested: ['a\u001b[31m'] }));
    expect(text).toContain('keeps changing a\\u{1b}[31m on');
  });

  test('names the namespace in what helps', async () => {
    const document = {
      replica: replicaDocument(),
      nodes: ['1', '2'].map((agentVersion) => nodeSummary({ agentVersion })),
    };
    expect((await status(document, '-n', 'elsewhere')).text).toContain('kubectl -n elsewhere rollout status');
  });

  test('is wide where that is asked for', async () => {
    expect((await status(WELL, '-o', 'wide')).text).toContain('settings');
    expect((await status(WELL)).text).not.toContain('settings');
  });

  test('of something without nodes is not an answer of a console', async () => {
    await expect(status(new Status(404))).rejects.toMatchObject({
      message: 'The answer does not come from a console of rollcall',
      cure: 'check --console-url',
      exitCode: 3,
    });
  });
});

/** Waits for up to five minutes, of which a second passes whenever it is looked, until it has asked so often. */
async function waiting(...answers: readonly unknown[]) {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  let looks = 0;
  const next = inTurn(...answers);
  const look = () => {
    looks += 1;
    return next();
  };
  const ran = status(look, '--wait=5m');
  const looksAfterOneMoreSecond = () => {
    vi.advanceTimersByTime(1000);
    return looks;
  };
  await expect.poll(looksAfterOneMoreSecond).toBe(answers.length);
  return ran;
}

describe('a service that is down on one node', () => {
  const DOWN = nodes({ services: { csi: 'not-ready' } });

  test.each([[], ['--wait=20ms'], ['--only=services'], ['-o', 'json']])('fails status %s', async (...flags) => {
    expect((await status(DOWN, ...flags)).exitCode).toBe(1);
  });

  test.each([['--only=rollcall'], ['--only=rollcall', '--wait=20ms']])('does not fail status %s', async (...flags) => {
    expect((await status(DOWN, ...flags)).exitCode).toBe(0);
  });

  test('is what status --wait waits for', async () => {
    const { exitCode, notes } = await waiting(DOWN, WELL);
    expect([exitCode, notes]).toEqual([0, 'Waiting (4m left): csi is not ready on 1 node: node-1\n']);
  });

  test('leaves the gate shut for the work of rollcall', async () => {
    expect((await status(PENDING, '--only=services')).exitCode).toBe(0);
    expect((await status(PENDING, '--only=rollcall')).exitCode).toBe(1);
  });
});

describe('status --wait', () => {
  test('ends at once where all nodes are as they should be', async () => {
    expect(await status(WELL, '--wait=1s')).toMatchObject({ exitCode: 0, notes: '' });
  });

  test('asks again until they are, and says what it waits for', async () => {
    const { exitCode, notes, text } = await waiting(PENDING, WELL);
    expect(exitCode).toBe(0);
    expect(text).toContain('The work of rollcall is done');
    expect(notes).toBe('Waiting (4m left): 1 node has pending writes: node-1\n');
  });

  test('says each thing once, however often it asks', async () => {
    const { notes } = await waiting(PENDING, PENDING, nodes({ agent: 'silent' }), WELL);
    expect(notes).toBe(
      'Waiting (4m left): 1 node has pending writes: node-1\nWaiting (4m left): The agent is silent on 1 node: node-1\n',
    );
  });

  test('gives what it found last when the time is over', async () => {
    const { exitCode, text } = await status(PENDING, '--wait=20ms');
    expect(exitCode).toBe(1);
    expect(text).toContain('1 node has pending writes');
  });

  test('waits for a leader as well', async () => {
    const { exitCode, notes } = await waiting(new Status(503, JSON.stringify({ detail: 'a\u0007' })), WELL);
    expect(exitCode).toBe(0);
    expect(notes).toBe('Waiting (4m left): The console answered 503: a\\u{7}\n');
  });

  test('gives the failure when the time is over', async () => {
    await expect(status(new Status(503), '--wait=20ms')).rejects.toThrow('The console answered 503');
  });

  test('gives up at once on what no waiting helps', async () => {
    await expect(
      run(['status', '--wait=1s', '--kubeconfig=/none'], { '/v1/nodes': { replica: 0, nodes: 0 } }),
    ).rejects.toThrow(TypeError);
  });
});
