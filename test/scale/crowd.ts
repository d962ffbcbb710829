import path from 'node:path';
import { waitFor } from '../control-plane/wait-for.ts';
import type { CrowdCounts, CrowdQuestion } from './crowd-process.ts';
import type { Fleet } from './fleet.ts';
import { Helper } from './helper.ts';

const PROGRAM = path.join(import.meta.dirname, 'crowd-process.ts');
const PROCESSES = 2;
const HEARD_MS = 300_000;

/**
 * The agents of a fleet, each with a TLS connection of its own as a real one has, in processes of their own. The fleet
 * itself is to be silent meanwhile.
 */
export class Crowd {
  readonly #parts: { helper: Helper<CrowdQuestion, CrowdCounts>; nodes: Set<string> }[] = [];

  /** Every node has reported, and says that its services are ready. */
  static async of(fleet: Fleet): Promise<Crowd> {
    const crowd = new Crowd();
    fleet.silence();
    for (let part = 0; part < PROCESSES; part += 1) {
      const nodes = fleet.names.filter((_, index) => index % PROCESSES === part);
      const helper = new Helper<CrowdQuestion, CrowdCounts>(PROGRAM);
      crowd.#parts.push({ helper, nodes: new Set(nodes) });
      const agents = nodes.map((node) => ({ node, token: fleet.tokenOf(node) }));
      await helper.ask({ ask: 'agents', urls: fleet.reportsUrls, ca: fleet.ca, agents });
    }
    await crowd.report(fleet.names, true);
    return crowd;
  }

  /** Full reports; resolves when each was taken. */
  async report(names: readonly string[], ready: boolean): Promise<void> {
    await Promise.all(
      this.#parts.map(({ helper, nodes }) => {
        const own = names.filter((name) => nodes.has(name));
        return own.length === 0 ? undefined : helper.ask({ ask: 'report', nodes: own, ready });
      }),
    );
  }

  /** From now on it counts who was heard. */
  mark(): Promise<CrowdCounts> {
    return this.#sum('mark');
  }

  counts(): Promise<CrowdCounts> {
    return this.#sum('counts');
  }

  /** Waits until a report of every node was taken since the mark. */
  async untilAllHeard(): Promise<void> {
    const nodes = this.#parts.reduce((sum, part) => sum + part.nodes.size, 0);
    await waitFor('every agent to be heard', async () => (await this.counts()).heard === nodes, {
      timeoutMs: HEARD_MS,
      everyMs: 100,
    });
  }

  async stop(): Promise<void> {
    await Promise.all(this.#parts.map(({ helper }) => helper.stop()));
  }

  async #sum(ask: 'mark' | 'counts'): Promise<CrowdCounts> {
    const all = await Promise.all(this.#parts.map(({ helper }) => helper.ask({ ask })));
    const sum = (of: (counts: CrowdCounts) => number) => all.reduce((total, counts) => total + of(counts), 0);
    return {
      refused: sum(({ refused }) => refused),
      taken: sum(({ taken }) => taken),
      heard: sum(({ heard }) => heard),
    };
  }
}
