import { request as httpRequest, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import { connect } from 'node:net';
import { systemClock } from '@rollcall/common/clock.ts';
import { listen } from '@rollcall/common/http-server.ts';
import { silentLogger } from '@rollcall/common/logging.ts';
import { Registry } from '@rollcall/common/metrics.ts';
import { type FullReport, type Heartbeat, PROTOCOL_VERSION } from '@rollcall/common/report.ts';
import { onTestFinished } from 'vitest';
import type { Role } from '../term/leadership-state.ts';
import type { AgentIdentity } from './agent-identity.ts';
import { IngestMetrics } from './metrics.ts';
import { type Acceptance, ReportHandler, type ReportHandlerOptions, type ReportSender } from './report-handler.ts';
import { ReportRefusal, unauthenticated } from './report-refusal.ts';
import { createReportsServer, type ReportsServerOptions } from './reports-server.ts';

/** The agent's pod on node `n1`. */
export const POD = { name: 'agent-1', uid: 'pod-uid-1' };

/** What a test changes while the server runs. */
type Surroundings = {
  role: Role;
  synced: boolean;
  /** Names of Nodes as watched, with their uids. */
  nodes: Map<string, string>;
  /** By token. */
  identities: Map<string, AgentIdentity>;
  accept: (report: FullReport | Heartbeat, sender: ReportSender) => Acceptance;
};

export type Answer = { status: number; headers: IncomingHttpHeaders; body: string };

/** The reports' server on a free loopback port, which takes the token `good` for node `n1`. For tests. */
export async function startReportsServer({
  rateLimit,
  ...options
}: Partial<ReportsServerOptions> & Pick<ReportHandlerOptions, 'rateLimit'> = {}) {
  const reviewed: string[] = [];
  const accepted: { report: FullReport | Heartbeat; sender: ReportSender }[] = [];
  const surroundings: Surroundings = {
    role: { leading: true },
    synced: true,
    nodes: new Map([['n1', 'uid-1']]),
    identities: new Map([['good', { node: 'n1', pod: POD, issuedAtSeconds: 5 }]]),
    accept: (report) => ({
      result: 'services' in report ? 'content' : 'heartbeat',
      reply: { nextReportSeconds: 10 },
    }),
  };
  const registry = new Registry();
  const warnings: unknown[] = [];
  const logger = silentLogger();
  logger.warn = (fields: unknown) => void warnings.push(fields);
  const metrics = new IngestMetrics(registry);
  const handler = new ReportHandler({
    leadership: { role: () => surroundings.role, synced: () => surroundings.synced },
    async authenticate(token) {
      reviewed.push(token);
      const identity = surroundings.identities.get(token);
      if (identity) return identity;
      if (token === 'stranger') throw new ReportRefusal(403, 'The token belongs to a stranger');
      throw unauthenticated('The API server does not accept this token', 'invalid_token');
    },
    nodeUid: (name) => surroundings.nodes.get(name),
    accept(report, sender) {
      const acceptance = surroundings.accept(report, sender);
      accepted.push({ report, sender });
      return acceptance;
    },
    clock: systemClock,
    logger,
    metrics,
    ...(rateLimit && { rateLimit }),
  });
  const reports = createReportsServer({ handler, metrics, ...options });
  const { port } = await listen(reports.server, { host: '127.0.0.1', port: 0 });
  return {
    ...reports,
    port,
    surroundings,
    reviewed,
    accepted,
    warnings,
    registry,
    stop: (graceMs = 200) => reports.stop(graceMs),
  };
}

/** The same, until the end of the test that asks for it. */
export async function reportsServer(options: Partial<ReportsServerOptions> = {}) {
  const server = await startReportsServer(options);
  onTestFinished(() => server.stop());
  return server;
}

/** A report as an agent sends it. */
export function wire(report: object): string {
  return JSON.stringify({ protocol: PROTOCOL_VERSION, ...report });
}

const POST: RequestOptions & { headers: Record<string, string> } = {
  host: '127.0.0.1',
  method: 'POST',
  path: '/v1/reports',
  headers: { authorization: 'Bearer good', 'content-type': 'application/json' },
};

/** Sends one request, on a connection of its own unless `options` has an agent, and reads the whole answer. */
export function send(
  port: number,
  body: string | Buffer | object,
  options: RequestOptions & { headers?: Record<string, string | undefined> } = {},
): Promise<Answer> {
  const headers = Object.entries({ ...POST.headers, ...options.headers }).filter(([, value]) => value !== undefined);
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { ...POST, agent: false, ...options, port, headers: Object.fromEntries(headers) as Record<string, string> },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const { statusCode = 0, headers } = response;
          resolve({ status: statusCode, headers, body: Buffer.concat(chunks).toString('utf8') });
        });
      },
    );
    request.on('error', reject);
    request.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : wire(body));
  });
}

/**
 * Sends bytes as they are, and resolves to all that came back until the server closed the connection, or said nothing
 * for longer than it lets a request take.
 */
export function sendRaw(port: number, bytes: string | Buffer, options: { end?: boolean } = {}): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      text += chunk;
    });
    // A reset is an end as well.
    socket.on('error', () => {});
    socket.on('close', () => resolve(text));
    socket.setTimeout(1500, () => socket.destroy());
    if (options.end) socket.end(bytes);
    else socket.write(bytes);
  });
}

/** The value of a sample, written as in the text format: `name{label="value"}`. */
export async function sample(registry: Registry, series: string): Promise<number | undefined> {
  const line = (await registry.metrics()).split('\n').find((text) => text.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}
