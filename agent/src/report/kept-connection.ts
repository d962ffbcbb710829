import type { Agent } from 'node:http';

/** One connection to one coordinator, kept from report to report. */
export class KeptConnection {
  #agent: Agent | undefined;
  #purpose = '';

  /**
   * The Node.js agent that holds the connection to `origin`. What was kept for another origin, or was verified by
   * another CA, is closed: neither its sockets nor its TLS sessions serve again.
   */
  agentFor(origin: string, ca: string | undefined): Agent {
    const purpose = `${origin}\n${ca ?? ''}`;
    if (this.#agent && purpose === this.#purpose) return this.#agent;
    this.close();
    const { Agent } = process.getBuiltinModule(origin.startsWith('https:') ? 'node:https' : 'node:http');
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1 });
    this.#purpose = purpose;
    return this.#agent;
  }

  close(): void {
    this.#agent?.destroy();
    this.#agent = undefined;
  }
}
