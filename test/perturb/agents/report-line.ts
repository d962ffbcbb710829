import { createServer, request as open, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { REPORTS_PATH } from '@rollcall/common/well-known.ts';
import { freePort } from '../../control-plane/ports.ts';

export type Report = {
  node: string;
  sequence: number;
  digest: string;
  servicesDigest?: string;
  leaving?: boolean;
  services?: unknown;
};
/** `brokenOff`: the connection ends in the middle of the body. */
export type Answer = { status: number; headers: Record<string, string>; body: string; brokenOff?: true };
/** What the agent hears: an answer, the end of the connection, or nothing. */
export type Fate = Answer | 'cut' | 'silence';

/** A report on its way, and how it gets to the coordinator, changed where a change is given. */
export type Passing = { report: Report; forward: (report?: Report) => Promise<Answer> };

/** Stands where agents look for the coordinator. The coordinator that it asks is behind it. */
export class ReportLine {
  readonly #coordinator: string;
  readonly #server: Server;
  readonly #routes = new Map<string, (passing: Passing) => Promise<Fate>>();
  url = '';

  /** `coordinator`: where it takes reports, without TLS. */
  constructor(coordinator: string) {
    this.#coordinator = coordinator;
    this.#server = createServer((request, response) => {
      const { authorization = '' } = request.headers;
      void text(request)
        .then((body) => this.#pass(JSON.parse(body) as Report, authorization, response))
        // An agent that ended.
        .catch(() => response.destroy());
    });
  }

  async start(): Promise<void> {
    const port = await freePort();
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Has whatever reports for a node go by `pass`. */
  route(node: string, pass: (passing: Passing) => Promise<Fate>): void {
    this.#routes.set(node, pass);
  }

  async #pass(report: Report, authorization: string, response: ServerResponse): Promise<void> {
    const pass = this.#routes.get(report.node);
    const forward = (changed = report) => this.#forward(JSON.stringify(changed), authorization);
    const fate = pass ? await pass({ report, forward }) : await forward();
    if (fate === 'silence') return;
    if (fate === 'cut') {
      response.destroy();
      return;
    }
    const { status, headers, body, brokenOff } = fate;
    response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
    if (!brokenOff) response.end(body);
    else response.write(body.slice(0, body.length / 2), () => response.destroy());
  }

  #forward(body: string, authorization: string): Promise<Answer> {
    const headers = { authorization, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      const request = open(`${this.#coordinator}${REPORTS_PATH}`, { method: 'POST', headers }, (response) => {
        const { statusCode: status = 0, headers: all } = response;
        const kept = Object.entries(all).filter(([name]) => /^(content-type|retry-after|location)$/.test(name));
        const answered = text(response).then((it) => ({
          status,
          headers: Object.fromEntries(kept) as Answer['headers'],
          body: it,
        }));
        answered.then(resolve, reject);
      });
      request.on('error', reject);
      request.end(body);
    });
  }
}
