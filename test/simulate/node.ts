import { PASSED_BY_NONE } from '@rollcall/coordinator/decide/readiness/on-demand-actors.test-fixtures.ts';
import type { ShapedKind } from '../model/kinds.ts';
import type { SimAgent } from './agent.ts';
import { NodeSockets } from './sockets.ts';

/** `absent`: there is no such pod. */
export type PodState = 'ready' | 'not-ready' | 'terminating' | 'absent';

/** The true state of a node. */
export class SimNode {
  readonly name: string;
  readonly uid: string;
  readonly address: string;
  readonly sockets = new NodeSockets();
  /** Pods by service. */
  readonly pods = new Map<string, { name: string; state: PodState }>();
  /** The kinds of which all that services may ask for is there. */
  readonly seen = new Set<ShapedKind>(PASSED_BY_NONE);
  /** Whether each agent's pod is there is another matter. */
  agents: SimAgent[] = [];
  isGone = false;
  /** When its Node was made. */
  readonly createdMs: number;
  /** Since when no agent on it can report, and how that began; `undefined` while one can. */
  silence: { sinceMs: number; goodbye: boolean } | undefined;

  constructor(name: string, uid: string, address: string, createdMs: number) {
    this.createdMs = createdMs;
    this.name = name;
    this.uid = uid;
    this.address = address;
  }

  podState(service: string): PodState {
    return this.pods.get(service)?.state ?? 'absent';
  }
}
