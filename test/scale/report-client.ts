import { Agent, type AgentOptions, request } from 'node:https';
import type { ReportReply } from '@rollcall/common/report.ts';
import { REPORTS_PATH } from '@rollcall/common/well-known.ts';

const SOCKETS_MAX = 64;
const TIMEOUT_MS = 10_000;
const REDIRECTS_MAX = 3;

type Answer = { status: number; location: string | undefined; body: string };

/**
 * Posts reports for all agents of a fleet by connections that they share: a thousand handshakes on the machine that is
 * measured would be a measurement of handshakes. A crowd has one for each agent. Remembers who takes reports until that
 * one fails.
 */
export class ReportClient {
  readonly #options: AgentOptions;
  #agent: Agent;
  readonly #urls: string[];
  /** How often each token was not accepted. */
  readonly notTaken = new Map<string, number>();
  #current = 0;
  #leader: string | undefined;
  /** Bytes of the longest reply so far. */
  replyBytesMax = 0;

  /** `serverName` is what the certificate has to carry; defaults to the address that is asked. */
  constructor(
    urls: readonly string[],
    ca: string,
    { socketsMax = SOCKETS_MAX, serverName }: { socketsMax?: number; serverName?: string } = {},
  ) {
    this.#urls = [...urls];
    const named = serverName === undefined ? {} : { servername: serverName };
    this.#options = { keepAlive: true, maxSockets: socketsMax, ...named };
    this.#agent = new Agent({ ...this.#options, ca });
  }

  /** New connections trust these authorities alone; those that are open go on, unless they are idle. */
  trust(ca: string): void {
    const before = this.#agent;
    this.#agent = new Agent({ ...this.#options, ca });
    before.destroy();
  }

  /** Another coordinator, to be tried where those before it fail. */
  add(url: string): void {
    this.#urls.push(url);
  }

  /** Reports that were not taken when they were sent. */
  get refused(): number {
    return this.notTaken.values().reduce((sum, each) => sum + each, 0);
  }

  /**
   * `undefined` when it was not taken, for now. Throws when it never will be: 4xx but 429, and 401, as its pod may not
   * have been seen yet.
   */
  async post(payload: string, token: string): Promise<ReportReply | undefined> {
    for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
      const origin = this.#leader ?? this.#urls[this.#current % this.#urls.length] ?? '';
      const answer = await this.#send(origin, payload, token).catch(() => undefined);
      if (answer?.status === 200) {
        this.replyBytesMax = Math.max(this.replyBytesMax, Buffer.byteLength(answer.body));
        return JSON.parse(answer.body) as ReportReply;
      }
      if (answer?.status === 307 && answer.location !== undefined) {
        this.#leader = new URL(answer.location).origin;
        continue;
      }
      if (answer && answer.status >= 400 && answer.status < 500 && ![401, 429].includes(answer.status))
        throw new Error(`A report was refused: ${answer.status} ${answer.body}`);
      break;
    }
    this.notTaken.set(token, (this.notTaken.get(token) ?? 0) + 1);
    this.#leader = undefined;
    this.#current += 1;
    return undefined;
  }

  close(): void {
    this.#agent.destroy();
  }

  #send(origin: string, payload: string, token: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(payload),
      };
      const options = { method: 'POST', agent: this.#agent, timeout: TIMEOUT_MS, headers };
      const outgoing = request(`${origin}${REPORTS_PATH}`, options, (response) => {
        const { statusCode: status = 0, headers } = response;
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          body += chunk;
        });
        response.on('end', () => resolve({ status, location: headers.location, body }));
        response.on('error', reject);
      });
      outgoing.on('timeout', () => outgoing.destroy(new Error('no answer')));
      outgoing.on('error', reject);
      outgoing.end(payload);
    });
  }
}
