import { CodedError } from '@rollcall/common/coded-error.ts';
import type { FullReport, Heartbeat } from '@rollcall/common/report.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Delivery, RenderReport } from './coordinator-client.ts';
import { digestContent } from './report-builder.ts';
import { ReportSender } from './report-sender.ts';

const A = 'https://a:8443';
const B = 'https://b:8443';
const LEADER = 'https://leader:8443';
const CONTENT = digestContent({ services: [], devices: [], facts: {} });
const OTHER_CONTENT = digestContent({ services: [], devices: [], facts: { cpu: 'x' } });
const SIGNAL = new AbortController().signal;

type Step = { via?: string[]; full?: boolean; newSession?: true; error?: CodedError };

let steps: Step[];
let sent: { origin: string; report: FullReport | Heartbeat }[];
let sender: ReportSender;
let clock: FakeClock;
let servicesDigest: string | undefined;

beforeEach(() => {
  steps = [];
  sent = [];
  clock = new FakeClock();
  servicesDigest = undefined;
  let sessions = 0;
  sender = new ReportSender({
    node: 'n',
    newBoot: () => `boot ${++sessions}`,
    servicesDigest: () => servicesDigest,
    urls: [A, B],
    client: { deliver },
    clock,
  });
});

/** Goes the way that the next step says, and ends as it says. */
async function deliver(first: string, render: RenderReport): Promise<Delivery> {
  const { via = [], full = false, newSession, error } = steps.shift() ?? {};
  const origins = [first, ...via];
  for (const origin of origins) sent.push({ origin, report: JSON.parse(render(origin)) });
  if (error) throw error;
  return { origin: origins.at(-1) ?? first, reply: { full, ...(newSession ? { newSession } : {}) } };
}

function send(report = CONTENT, leaving = false, signal = SIGNAL) {
  return sender.send(report, { leaving, timeoutMs: 1000, signal });
}

function kinds() {
  return sent.map(({ origin, report }) => `${origin} ${'services' in report ? 'full' : 'heartbeat'}`);
}

function refused(status: number) {
  return new CodedError('COORDINATOR_REFUSED', 'No', { fields: { status } });
}

describe('ReportSender', () => {
  test('sends the content once, and again when it has changed', async () => {
    await send();
    await send();
    await send(OTHER_CONTENT);
    await send(OTHER_CONTENT);
    expect(kinds()).toEqual([`${A} full`, `${A} heartbeat`, `${A} full`, `${A} heartbeat`]);
    expect(sent.at(-1)?.report).toEqual({
      ...{ protocol: 1, node: 'n', boot: 'boot 1', sequence: 4 },
      digest: OTHER_CONTENT.digest,
    });
  });

  test('sends the content until it was accepted', async () => {
    steps = [{ error: refused(403) }, { error: refused(403) }];
    await expect(send()).rejects.toThrow();
    await expect(send()).rejects.toThrow();
    await send();
    expect(kinds()).toEqual([`${A} full`, `${B} full`, `${A} full`]);
  });

  test('sends the content to whom has not had it, and a heartbeat to whom has', async () => {
    steps = [{}, { via: [LEADER] }];
    await send();
    await send();
    await send();
    expect(kinds()).toEqual([`${A} full`, `${A} heartbeat`, `${LEADER} full`, `${LEADER} heartbeat`]);
  });

  test('gives every transmission a number of its own', async () => {
    steps = [{ via: [LEADER] }, { error: refused(503) }];
    await send();
    await expect(send()).rejects.toThrow();
    await send();
    expect(sent.map(({ report }) => report.sequence)).toEqual([1, 2, 3, 4]);
  });

  test('says that the content is wanted when only a heartbeat was sent, and then sends it', async () => {
    steps = [{}, { full: true }, { full: true }];
    expect((await send()).contentWanted).toBe(false);
    expect((await send()).contentWanted).toBe(true);
    // A coordinator that wants content which it just got would get it without end.
    expect((await send()).contentWanted).toBe(false);
    await send();
    expect(kinds()).toEqual([`${A} full`, `${A} heartbeat`, `${A} full`, `${A} full`]);
  });

  test('remembers the leader until it fails', async () => {
    steps = [{ via: [LEADER] }, {}, { error: refused(503) }];
    await send();
    await send();
    await expect(send()).rejects.toThrow();
    await send();
    expect(sent.map(({ origin }) => origin)).toEqual([A, LEADER, LEADER, LEADER, A]);
  });

  test('stays with a leader that only wants to be left alone for a while', async () => {
    steps = [{ via: [LEADER] }, { error: refused(429) }];
    await send();
    await expect(send()).rejects.toThrow();
    await send();
    expect(sent.at(-1)?.origin).toBe(LEADER);
  });

  test('is introduced when a coordinator took a report, not before', async () => {
    steps = [{ error: refused(401) }];
    await expect(send()).rejects.toThrow();
    expect(sender.introduced).toBe(false);
    await send();
    expect(sender.introduced).toBe(true);
  });

  test('is exhausted when every endpoint on the list has failed, and at once by one that wants to be left alone', async () => {
    const error = refused(503);
    steps = [{ error }, { error }, { error }, { error: refused(429) }];
    const exhausted: boolean[] = [];
    for (let attempt = 0; attempt < 4; attempt += 1) {
      await expect(send()).rejects.toThrow();
      exhausted.push(sender.exhausted);
    }
    expect(exhausted).toEqual([false, true, false, true]);
  });

  test('holds a report that was broken off against no coordinator', async () => {
    steps = [{ error: refused(503) }];
    await expect(send(CONTENT, false, AbortSignal.abort())).rejects.toThrow();
    await send();
    expect(sent.map(({ origin }) => origin)).toEqual([A, A]);
  });

  test('begins a session and sends the content at once when a report did not count', async () => {
    steps = [{}, { newSession: true }];
    await send();
    expect(await send()).toMatchObject({ contentWanted: true, isNewSession: true });
    await send();
    const sessions = sent.map(({ report }) => `${report.boot}: ${report.sequence}`);
    expect(sessions).toEqual(['boot 1: 1', 'boot 1: 2', 'boot 2: 1']);
    expect(kinds().at(-1)).toBe(`${A} full`);
  });

  test('begins a session at most every two seconds, and sends the content until one counts', async () => {
    steps = [{ newSession: true }, { newSession: true }, { newSession: true }];
    expect((await send()).isNewSession).toBe(true);
    await clock.advance(1999);
    expect(await send()).toMatchObject({ isNewSession: false, contentWanted: false });
    await clock.advance(1);
    expect((await send()).isNewSession).toBe(true);
    await send();
    expect(sent.map(({ report }) => report.boot)).toEqual(['boot 1', 'boot 2', 'boot 2', 'boot 3']);
    expect(new Set(kinds())).toEqual(new Set([`${A} full`]));
  });

  test('begins a session for a goodbye that did not count, however soon after the last', async () => {
    steps = [{ newSession: true }, { newSession: true }];
    await send();
    expect(await send(CONTENT, true)).toMatchObject({ isNewSession: true, contentWanted: true });
    await send(CONTENT, true);
    expect(sent.map(({ report }) => report.boot)).toEqual(['boot 1', 'boot 2', 'boot 3']);
    expect(sent.at(-1)?.report).toMatchObject({ leaving: true, services: [] });
  });

  test('names the list of services of the moment', async () => {
    await send();
    servicesDigest = 's';
    await send();
    expect(sent.map(({ report }) => report.servicesDigest)).toEqual([undefined, 's']);
  });

  test('says that the agent leaves', async () => {
    await send();
    await send(CONTENT, true);
    expect(sent.map(({ report }) => report.leaving)).toEqual([undefined, true]);
  });
});
