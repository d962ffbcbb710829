import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FakeClock } from '@rollcall/common/fake-clock.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Decider } from '../decide/decider.ts';
import { observeWorkspacePod } from '../fleet/observed-workspace-pod.ts';
import type { CoordinatorConfig } from '../setup/config.ts';
import { createAuthority } from '../tls/certificate-authority.ts';
import { readClientCas, Scheduling } from './scheduling.ts';

describe('the CAs of clients', () => {
  let dir: string;
  let file: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'rollcall-client-cas-'));
    file = join(dir, 'ca.crt');
  });
  afterEach(() => rm(dir, { recursive: true }));

  const read = async (text: string) => {
    await writeFile(file, text);
    return readClientCas({ schedulerClientCaFile: file });
  };

  test('are read one by one', async () => {
    const [a, b] = await Promise.all([createAuthority({ nowMs: Date.now() }), createAuthority({ nowMs: Date.now() })]);
    expect(await read(a.cert + b.cert)).toEqual([a.cert, b.cert]);
    expect(await read(`first\n${a.cert}second\n${b.cert}`)).toEqual([a.cert, b.cert]);
    expect(readClientCas({ schedulerClientCaFile: undefined })).toBeUndefined();
  });

  test('are a wrong setting when there is none, when one is damaged, or when the file is missing', async () => {
    const { cert, key } = await createAuthority({ nowMs: Date.now() });
    for (const text of ['', 'garbage', key, cert + cert.replace(/^M/m, 'X'), `${cert}-----BEGIN CERTIFICATE-----\n`]) {
      await expect(read(text)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    }
    expect(() => readClientCas({ schedulerClientCaFile: join(dir, 'none') })).toThrow(/cannot read/);
  });
});

describe('the pods of workspaces', () => {
  let scheduling: Scheduling;
  let settled: string[];
  let clock: FakeClock;
  let config: CoordinatorConfig;
  beforeEach(() => {
    clock = new FakeClock();
    const settings = { readinessGate: 'label', scoreWeights: [], namespace: 'default', placing: {} };
    config = settings as unknown as CoordinatorConfig;
    scheduling = new Scheduling({
      config,
      decider: () => ({}) as Decider,
      services: () => [],
      clock,
    });
    settled = [];
    scheduling.desk.settled = (id) => void settled.push(id);
  });

  const pod = (name: string, spec: object, status = {}) =>
    observeWorkspacePod({ metadata: { uid: name, namespace: 'default', name }, spec, status });

  test('that have a node, or have ended, are no longer on their way, whether they are listed or seen', () => {
    const { desk } = scheduling;
    const pods = [pod('waits', {}), pod('bound', { nodeName: 'n' }), pod('ended', {}, { phase: 'Failed' })];
    scheduling.podHandlers.onReplace(pods);
    expect(settled).toEqual(['bound', 'ended']);
    for (const each of pods) scheduling.podHandlers.onUpsert(each);
    expect(settled).toEqual(['bound', 'ended', 'bound', 'ended']);
    scheduling.podHandlers.onDelete(pod('waits', {}));
    expect(settled.at(-1)).toBe('waits');
    expect(scheduling.desk).toBe(desk);
  });

  test('are asked about anew in each term: what was answered before is not known', () => {
    const { desk } = scheduling;
    scheduling.beginTerm();
    expect(scheduling.desk).not.toBe(desk);
  });

  test('are waited for while they are not seen yet, for a moment, and not where clients show who they are', async () => {
    const outcome = (promise: Promise<void> | undefined) =>
      Promise.race([Promise.resolve(promise).then(() => 'ended'), nextTurn().then(() => 'waits')]);
    const first = scheduling.arrival('a');
    expect(scheduling.arrival('a')).toBe(first);
    const other = scheduling.arrival('b');
    scheduling.podHandlers.onUpsert(pod('a', {}));
    expect(await outcome(first)).toBe('ended');
    expect(scheduling.arrival('a')).toBeUndefined();
    await clock.advance(199);
    expect(await outcome(other)).toBe('waits');
    await clock.advance(1);
    expect(await outcome(other)).toBe('ended');
    // The time of the second begins anew.
    const again = scheduling.arrival('b');
    expect(again).not.toBe(other);
    expect(await outcome(again)).toBe('waits');
    config.schedulerClientCaFile = '/ca.crt';
    expect(scheduling.arrival('c')).toBeUndefined();
  });

  test('wait from when they are seen without a node until they have one, or are gone', () => {
    const waiting = () => ['a', 'b'].filter((uid) => scheduling.isWaiting(uid));
    scheduling.podHandlers.onReplace([pod('a', {})]);
    scheduling.podHandlers.onUpsert(pod('b', {}));
    expect(waiting()).toEqual(['a', 'b']);
    scheduling.podHandlers.onUpsert(pod('a', { nodeName: 'n' }));
    scheduling.podHandlers.onDelete(pod('b', {}));
    expect(waiting()).toEqual([]);
    scheduling.podHandlers.onUpsert(pod('b', {}));
    scheduling.podHandlers.onReplace([]);
    expect(waiting()).toEqual([]);
  });
});
