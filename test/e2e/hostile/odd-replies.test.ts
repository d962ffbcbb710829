import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createService, listenOnLoopback, type RunningServer } from '@rollcall/agent/probes/testing/servers.ts';
import { FIRST, SERVER_NAME } from '@rollcall/agent/report/testing/certificates.ts';
import { redirectTo, type TestAnswer, TestCoordinator } from '@rollcall/agent/report/testing/coordinator.ts';
import type { ServiceToProbe } from '@rollcall/common/report.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AGENT_V8_FLAGS } from '../../../deploy/source/chart/agent-values.ts';
import { sumSamples } from '../../control-plane/metrics-text.ts';
import { freePort } from '../../control-plane/ports.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { httpGet } from '../../rig/http-get.ts';
import { Program } from '../../rig/program.ts';

let directory: string;
let coordinator: TestCoordinator;
let service: RunningServer;
let agent: Program;
let health: string;
let list: ServiceToProbe[];

/** Deeper than a recursive function can follow. */
const nested = (depth: number) => `${'{"a":['.repeat(depth)}${']}'.repeat(depth)}`;
const good = (): TestAnswer => ({ body: { nextReportSeconds: 0.2, services: list } });

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'rollcall-odd-replies-'));
  const [token, ca] = [path.join(directory, 'token'), path.join(directory, 'ca.crt')];
  await Promise.all([writeFile(token, 'a-token'), writeFile(ca, FIRST.ca)]);
  await startService();
  coordinator = await new TestCoordinator(FIRST).start();
  coordinator.answer = good;
  const port = await freePort();
  health = `http://127.0.0.1:${port}`;
  agent = new Program('agent', {
    nodeArgs: AGENT_V8_FLAGS,
    args: [
      '--node-name=n',
      `--coordinator-url=${coordinator.origin}`,
      `--coordinator-ca-file=${ca}`,
      `--coordinator-server-name=${SERVER_NAME}`,
      `--token-file=${token}`,
      `--listen=127.0.0.1:${port}`,
    ],
  });
  await untilReported(true);
});

afterAll(async () => {
  await agent?.destroy();
  await coordinator?.stop();
  await service?.close();
  await rm(directory, { recursive: true, force: true });
});

/** At another port each time. */
async function startService(): Promise<void> {
  service = await listenOnLoopback(createService('tcp'));
  const target = { host: '127.0.0.1', port: service.port };
  list = [{ name: 'a', digest: 'd', probe: { kind: 'tcp' }, target, periodMilliseconds: 100 }];
}

function lastReported(): boolean | undefined {
  const full = coordinator.taken.findLast(({ report }) => 'services' in report)?.report;
  return full && 'services' in full ? full.services.find(({ name }) => name === 'a')?.ready : undefined;
}

async function untilReported(ready: boolean): Promise<void> {
  const isReported = () => lastReported() === ready || !agent.running;
  await waitFor(`the agent to report ready: ${ready}`, isReported, { timeoutMs: 30_000 });
  expect(agent.running, agent.tail(3)).toBe(true);
}

async function metric(name: string, labels: Record<string, string>): Promise<number> {
  return sumSamples((await httpGet(`${health}/metrics`)).body, name, labels);
}

/** Answers so until three reports came, of which two came after an answer. */
async function answerThreeReports(answer: () => TestAnswer | undefined): Promise<void> {
  const before = coordinator.taken.length;
  coordinator.answer = answer;
  const came = () => coordinator.taken.length >= before + 3 || !agent.running;
  await waitFor('three reports', came, { timeoutMs: 60_000 });
  expect(agent.running, agent.tail()).toBe(true);
}

const ODD: [what: string, answer: () => TestAnswer | undefined][] = [
  [
    'a list of services nested 20,000 deep',
    () => ({
      body: `{"nextReportSeconds":0.2,"services":[{"name":"b","probe":{"kind":"tcp","x":${nested(20_000)}}}]}`,
    }),
  ],
  ['an unknown field nested 20,000 deep', () => ({ body: `{"nextReportSeconds":0.2,"x":${nested(20_000)}}` })],
  ['a problem document nested 20,000 deep', () => ({ status: 400, body: nested(20_000) })],
  ['2 MB', () => ({ body: { nextReportSeconds: 0.2, x: 'x'.repeat(2_000_000) } })],
  [
    '100,000 services',
    () => ({ body: { nextReportSeconds: 0.2, services: Array.from({ length: 100_000 }, () => ({})) } }),
  ],
  ['services of wrong types', () => ({ body: { nextReportSeconds: 0.2, services: { name: 'b' } } })],
  ['null for each field', () => ({ body: { nextReportSeconds: null, full: null, questions: null, services: null } })],
  ['a list', () => ({ body: [] })],
  ['JSON that is cut off', () => ({ body: '{"nextReportSeconds":0.2,"services":[{"name":"b","pro' })],
  ['no JSON', () => ({ body: 'OK' })],
  ['200 with a page', () => ({ headers: { 'content-type': 'text/html' }, body: '<html><body>Login</body></html>' })],
  ['redirects in circles', () => redirectTo(`${coordinator.origin}/v1/reports`)],
  ['a redirect to nowhere', () => redirectTo('https://[')],
  ['204 without a body', () => ({ status: 204, body: '' })],
  ['an empty body', () => ({ body: '' })],
];

test.each(ODD)('an agent that is answered with %s goes on, and probes what it probed', async (_what, answer) => {
  await answerThreeReports(answer);
  coordinator.answer = good;
  await service.close();
  await untilReported(false);
  await startService();
  await untilReported(true);
  expect((await httpGet(`${health}/healthz`)).status).toBe(200);
});

test('an agent whose coordinator ends connections in the middle of replies goes on', async () => {
  await answerThreeReports(() => {
    setTimeout(() => coordinator.dropConnections(), 50);
    return { headers: { 'content-length': '1000' }, body: '{"nextReportSeconds":' };
  });
  coordinator.answer = good;
  await service.close();
  await untilReported(false);
});

test('none of these replies counts as accepted, and none is an unexpected error', async () => {
  expect(await metric('rollcall_agent_reports_total', { result: 'refused' })).toBeGreaterThanOrEqual(ODD.length);
  expect(await metric('rollcall_agent_report_errors_total', {})).toBe(0);
  expect(agent.logs.filter(({ level }) => level === 'fatal' || level === 'error')).toEqual([]);
});
