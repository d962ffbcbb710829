import { FIELD_MANAGER, readyLabel } from '@rollcall/common/well-known.ts';
import type { NodeWrite } from './api-server/nodes.ts';
import { LAG_MS } from './news.ts';
import { PUBLISHED_IDS } from './node-services.ts';
import { type NodeTruth, SERVICE_NAMES } from './truth.ts';
import type { Verdict } from './verdicts.ts';
import type { Workload } from './workloads.ts';
import type { World } from './world.ts';

const DELAY_MS = 30_000;
/** What was decided so long ago may still be under way. */
const REASON_MS = 3000;

/** How a node lost a value of a label, and whether its service had been seen to fail. */
type Loss = { value: string; atMs: number; isOurs: boolean; isSeen: boolean };

/**
 * §5, §10: pods are evicted only for a label that rollcall withdrew and that stayed away, for labels of services only where
 * that is asked for, and then only where the service was seen to fail: not by silence, not by damping, and not because of
 * what was configured.
 */
export class Evictions {
  readonly #world: World;
  /** By Node and label. */
  readonly #losses = new Map<string, Loss>();
  /** When a service was last seen to fail, by Node and label. */
  readonly #failedMs = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  /** `verdict`: without damping. */
  look({ uid }: NodeTruth, label: string | undefined, verdict: Verdict): void {
    if (label !== undefined && (verdict === 'not-ready' || verdict === 'open'))
      this.#failedMs.set(`${uid} ${label}`, this.#world.nowMs);
  }

  written({ node, before, manager }: NodeWrite): void {
    const { uid } = node.metadata;
    const [had, has] = [before?.metadata.labels ?? {}, node.metadata.labels ?? {}];
    for (const [key, value] of Object.entries(had)) {
      if (has[key] === value) continue;
      const id = `${uid} ${key}`;
      const isOurs = manager === FIELD_MANAGER;
      this.#losses.set(id, { value, atMs: this.#world.nowMs, isOurs, isSeen: this.#isSeen(id) });
    }
  }

  /** What is wrong with an eviction. */
  evicted({ name, node, key, value }: Workload): string | undefined {
    const { nowMs, nodes } = this.#world;
    const { metadata } = nodes.get(node) ?? {};
    const id = `${metadata?.uid} ${key}`;
    const loss = this.#losses.get(id);
    const awayMs = nowMs - (loss?.atMs ?? nowMs);
    const what = `${name} was evicted from ${node} for want of ${key}=${value}`;
    if (metadata?.labels?.[key] === value && awayMs > DELAY_MS + LAG_MS) return `${what}, which is there`;
    if (!loss?.isOurs || loss.value !== value) return `${what}, which rollcall did not withdraw`;
    if (awayMs < DELAY_MS) return `${what}, which was away for ${awayMs} ms`;
    if (!isOfService(key)) return undefined;
    if (!this.#world.evict?.readiness) return `${what}, which is of a service`;
    return loss.isSeen || this.#isSeen(id) ? undefined : `${what}, and nobody saw the service fail`;
  }

  #isSeen(id: string): boolean {
    return this.#world.nowMs - (this.#failedMs.get(id) ?? Number.NEGATIVE_INFINITY) <= REASON_MS;
  }
}

function isOfService(label: string): boolean {
  return (
    SERVICE_NAMES.some((name) => readyLabel(name, 'default') === label) || PUBLISHED_IDS.includes(`label:${label}`)
  );
}
