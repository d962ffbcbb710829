import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { createNode, createPod } from '../../control-plane/cluster.ts';
import { agentServiceAccount, ownNamespace, requestAgentToken } from '../../control-plane/rbac.ts';
import { type Histories, strayHistories } from '../key-history.ts';
import { type NodeView, oursOn } from '../picture.ts';
import type { Fate, Passing } from './report-line.ts';
import { RunningAgent } from './running-agent.ts';
import { Service } from './service.ts';
import type { Spoil } from './spoils.ts';
import type { Stage } from './stage.ts';

/** Which report of a run something befalls: the first one, the one after it, and the first that says what the name says. */
export const MOMENTS = ['first', 'told', 'death', 'return', 'goodbye'] as const;
export type Moment = (typeof MOMENTS)[number];

/** What a run showed. */
export type Told = {
  /** Reports that did not wait for the time that the coordinator had named. */
  news: number;
  histories: Histories;
  /** Hosts at which the agent looked for services. */
  asked: ReadonlySet<string>;
  /** Whether the report came that something befalls. */
  isPlayed: boolean;
  /** What did not come about, or went wrong on the way. */
  problem: string | undefined;
};

const READY = ['condition service.rollcall.dev/Alpha=True', 'service.rollcall.dev/alpha=true'];
const TAINT = 'taint readiness.k8s.io/alpha:NoSchedule';
const DOWN = ['condition service.rollcall.dev/Alpha=False', TAINT];
const isReady = (ours: readonly string[]) => isDeepStrictEqual(ours, READY);
const isDown = (ours: readonly string[]) => isDeepStrictEqual(ours, DOWN);

/** Machines are busy. */
const PATIENCE_MS = 60_000;
/** Longer than until the next heartbeat of a node whose pods are new, which is a second. */
const QUIET_MS = 1500;
const POLL_MS = 50;
/** Heartbeats may come this much early. */
const EARLY = 0.9;
const SECONDS = { min: 0.2, max: 600 };

/** One agent on a node of its own: it starts, its service dies and returns, and it is replaced. */
export class AgentRun {
  readonly #stage: Stage;
  readonly #name: string;
  readonly #spoil: Spoil | undefined;
  readonly #moment: Moment | undefined;
  #step: Moment = 'first';
  #before: Passing['report'] | undefined;
  #endsMs: number | undefined;
  #nextDueMs = Number.POSITIVE_INFINITY;
  #underWay = 0;
  readonly #asked = new Set<string>();
  #news = 0;

  constructor(stage: Stage, name: string, plan?: { spoil: Spoil; moment: Moment }) {
    this.#stage = stage;
    this.#name = name;
    this.#spoil = plan?.spoil;
    this.#moment = plan?.moment;
  }

  /** `isFirst`: no run has proven the service yet, so that nothing is on the Node before the agent speaks. */
  async play({ isFirst = false } = {}): Promise<Told> {
    const { line, servicePort } = this.#stage;
    const address = this.#stage.nextAddress();
    const service = new Service(address, servicePort);
    let agent: RunningAgent | undefined;
    let from: ReadonlyMap<string, number> = new Map();
    let problem: string | undefined;
    line.route(this.#name, (passing) => this.#pass(passing));
    try {
      await service.start();
      const start = await this.#populate(address);
      // The first run has proven the service: the taint, and a condition, Unknown or False, come before the agent.
      if (!isFirst) await this.#settle('the beginning', (ours) => ours.length === DOWN.length && ours.includes(TAINT));
      from = lengthsOf(this.#histories());
      agent = start();
      await this.#settle('the start', isReady);
      this.#step = 'death';
      service.stop();
      await this.#settle('the death', isDown);
      this.#step = 'return';
      await service.start();
      await this.#settle('the return', isReady);
      this.#step = 'goodbye';
      await agent.stop();
      agent = start();
      await this.#settle('the replacement', isReady);
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    }
    await agent?.stop();
    service.stop();
    const histories = new Map(
      [...this.#histories()].map(([id, values]) => [id, sinceHeard(id, values.slice(from.get(id) ?? 1))]),
    );
    return { news: this.#news, histories, asked: this.#asked, isPlayed: this.#endsMs !== undefined, problem };
  }

  /** Histories of the keys of its Node, without the Node's name. */
  #histories(): Histories {
    const own = [...this.#stage.histories.all].filter(([id]) => id.startsWith(`${this.#name} `));
    return new Map(own.map(([id, values]) => [id.slice(this.#name.length + 1), [...values]]));
  }

  /** Creates the Node and its pods. Returns what starts the agent. */
  async #populate(podIP: string): Promise<() => RunningAgent> {
    const { cluster, line } = this.#stage;
    const { api } = cluster;
    const node = this.#name;
    const hostIp = '127.0.0.1';
    await createNode(api, node, { internalIP: hostIp });
    const spec = { tolerations: [{ operator: 'Exists' }] };
    const labels = { app: 'alpha' };
    const own = { nodeName: node, ready: true, podIP, hostIP: hostIp };
    await createPod(api, { ...own, namespace: 'default', name: `alpha-${node}`, labels, spec });
    const name = `rollcall-agent-${node}`;
    const pod = { ...own, namespace: ownNamespace, name, serviceAccount: agentServiceAccount };
    const { metadata } = await createPod(api, pod);
    const token = await requestAgentToken(api, { name, uid: metadata.uid ?? '' });
    const onConnect = (host: string) => this.#asked.add(host);
    return () => new RunningAgent({ node, hostIp, url: line.url, token, onConnect });
  }

  async #settle(what: string, wanted: (ours: readonly string[]) => boolean): Promise<void> {
    const deadlineMs = performance.now() + PATIENCE_MS;
    let sinceMs: number | undefined;
    for (;;) {
      const nowMs = performance.now();
      const node = this.#stage.nodes.get(this.#name);
      const ours = node ? oursOn(node as NodeView) : [];
      const isSo = wanted(ours) && this.#underWay === 0 && !this.#lasts(nowMs);
      sinceMs = isSo ? (sinceMs ?? nowMs) : undefined;
      if (sinceMs !== undefined && nowMs - sinceMs >= QUIET_MS) return;
      if (nowMs > deadlineMs) throw new Error(`${what}: there is ${JSON.stringify(ours)}`);
      await sleep(POLL_MS);
    }
  }

  async #pass(passing: Passing): Promise<Fate> {
    const nowMs = performance.now();
    if (nowMs < this.#nextDueMs) this.#news += 1;
    this.#nextDueMs = Number.POSITIVE_INFINITY;
    const before = this.#before;
    if (passing.report.services !== undefined) this.#before = passing.report;
    this.#underWay += 1;
    try {
      const isSpoilt = this.#lasts(nowMs) || this.#isDue(passing.report);
      if (isSpoilt) this.#endsMs ??= nowMs + (this.#spoil?.lastsMs ?? 0);
      const { closedPort } = this.#stage;
      const fate = await (isSpoilt && this.#spoil
        ? this.#spoil.act(passing, { closedPort, before })
        : passing.forward());
      this.#noteInterval(fate);
      return fate;
    } finally {
      this.#underWay -= 1;
    }
  }

  #lasts(nowMs: number): boolean {
    return this.#endsMs !== undefined && nowMs < this.#endsMs;
  }

  #isDue({ services, leaving }: Passing['report']): boolean {
    if (this.#endsMs !== undefined) return false;
    if (this.#moment === 'first') return true;
    if (this.#moment === 'told') return this.#before !== undefined && this.#step === 'first';
    if (this.#moment !== this.#step) return false;
    return this.#moment === 'goodbye' ? leaving === true : services !== undefined;
  }

  /** When the next report is due that is no news, by what the agent hears. */
  #noteInterval(fate: Fate): void {
    if (typeof fate === 'string' || fate.status !== 200 || fate.brokenOff) return;
    const named = /"nextReportSeconds":\s*([-+\deE.]+)/.exec(fate.body)?.[1];
    if (named === undefined) return;
    const seconds = Math.min(SECONDS.max, Math.max(SECONDS.min, Number(named)));
    this.#nextDueMs = performance.now() + seconds * 1000 * EARLY;
  }
}

/**
 * How a service begins of which nothing is known yet depends on what comes first, the Node or its pods: its condition may
 * be unknown, and its taint may be there, once it is proven, until the agent is heard.
 */
function sinceHeard(id: string, values: readonly string[]): readonly string[] {
  const isBeginning = values[0] === 'Unknown' || (id.startsWith('taint ') && values[0] === '');
  return isBeginning ? values.slice(1) : values;
}

function lengthsOf(histories: Histories): Map<string, number> {
  return new Map([...histories].map(([id, values]) => [id, values.length]));
}

/** Differences from the reference; empty in a good run. */
export function compare(references: readonly Told[], actual: Told, { more = 1, misleads }: Spoil): string[] {
  const reference = references[0]?.histories ?? new Map();
  const stray = misleads ? [] : strayHistories(reference, actual.histories, false);
  const foreign = [...actual.asked].filter((host) => !host.startsWith('127.'));
  const news = Math.max(...references.map((each) => each.news));
  return [
    ...(actual.isPlayed ? [] : ['no such report came']),
    ...(actual.problem === undefined ? [] : [actual.problem]),
    ...stray,
    ...foreign.map((host) => `it looked for a service at ${host}`),
    ...(actual.news > news + more ? [`${actual.news} reports instead of ${news}, and ${more} more at most`] : []),
  ];
}
