import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { systemClock } from '@rollcall/common/clock.ts';
import type {
  AuditEntry,
  NodeDocument,
  NodeSummary,
  PlannedNode,
  ReplicaDocument,
  ServiceDocument,
} from '@rollcall/common/console.ts';
import { closeServer, listen } from '@rollcall/common/http-server.ts';
import { createConsoleServer } from '@rollcall/coordinator/answer/console/console-server.ts';
import { FleetNews } from '@rollcall/coordinator/answer/console/fleet-news.ts';
import { pageOf } from '@rollcall/coordinator/answer/console/page.ts';
import { auditDocument, nodeDocument, replicaDocument, SERVICES, serviceDocument } from './pretend-fleet.ts';

const PAGE = path.resolve(import.meta.dirname, '../../coordinator/dist/console.html');

type Served = ReturnType<typeof createConsoleServer>;

/**
 * The console as it is, its server and its stream, over a fleet that a test makes up: thousands of nodes, and names and
 * evidence that no API server would take. It can be away for a while.
 */
export class PretendConsole {
  readonly nodes = new Map<string, NodeSummary>();
  services: ServiceDocument[] = SERVICES.map((name) => serviceDocument(name));
  plan: PlannedNode[] = [];
  entries: AuditEntry[] = [];
  replica: Partial<ReplicaDocument> = {};
  /** It cannot tell the nodes. */
  isBroken = false;
  /** Changes the document of a node before it is sent. */
  explain: (document: NodeDocument) => NodeDocument = (document) => document;
  readonly #html: string;
  readonly #news: FleetNews;
  #server: Served | undefined;
  #port = 0;

  private constructor(html: string) {
    this.#html = html;
    this.#news = new FleetNews({
      clock: systemClock,
      summary: (name) => this.nodes.get(name),
      replica: () => this.#replicaNow(),
    });
  }

  static async start(nodes: readonly NodeSummary[] = []): Promise<PretendConsole> {
    const console = new PretendConsole(await readFile(PAGE, 'utf8'));
    for (const node of nodes) console.nodes.set(node.name, node);
    await console.open();
    return console;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/`;
  }

  /** Replaces these nodes and sends them to all open streams. */
  tell(...nodes: readonly NodeSummary[]): void {
    for (const node of nodes) {
      this.nodes.set(node.name, node);
      this.#news.look(node.name);
    }
  }

  remove(name: string): void {
    this.nodes.delete(name);
    this.#news.look(name);
  }

  /** The replica is other than it was. */
  set(replica: Partial<ReplicaDocument>): void {
    this.replica = { ...this.replica, ...replica };
    this.#news.tick();
  }

  /** Another leader: it does not know what was told before. */
  restartStream(): void {
    this.#news.restart();
  }

  async open(): Promise<void> {
    const server = createConsoleServer(this.#source(), '127.0.0.1', systemClock);
    await listen(server, { host: '127.0.0.1', port: this.#port });
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** The coordinator is gone, or the port-forward is: every connection ends, and none is accepted. */
  async close(): Promise<void> {
    if (!this.#server) return;
    this.#server.closeAllConnections();
    await closeServer(this.#server, 0);
    this.#server = undefined;
  }

  #replicaNow(): ReplicaDocument {
    return replicaDocument(this.replica);
  }

  #source(): Parameters<typeof createConsoleServer>[0] {
    const replica = () => this.#replicaNow();
    return {
      nodes: () => {
        if (this.isBroken) throw new Error('no nodes');
        const eventId = replica().leading ? { eventId: this.#news.follow() } : {};
        return { head: { replica: replica(), ...eventId }, list: 'nodes', items: this.nodes.values() };
      },
      node: (name) => {
        const summary = this.nodes.get(name);
        return summary && this.explain(nodeDocument(summary, replica()));
      },
      plan: () => ({ head: { replica: replica() }, list: 'nodes', items: this.plan }),
      services: () => ({ replica: replica(), services: this.services }),
      audit: () => ({
        head: { replica: replica(), ...auditDocument(this.nodes.size) },
        list: 'entries',
        items: this.entries,
      }),
      diff: () => Promise.reject(new Error('nothing can be proposed here')),
      rules: () => Promise.resolve(undefined),
      ruleOnNode: () => undefined,
      schedule: () => Promise.resolve(undefined),
      readers: () => this.#news.readers,
      stream: (reader) => this.#news.open(reader),
      page: () => pageOf(this.#html),
      leaderUrl: () => undefined,
    };
  }
}
