import { FIELD_MANAGER } from '@rollcall/common/well-known.ts';
import type { Node } from '@rollcall/coordinator/kube/objects.ts';
import { inForce } from './acceptance.ts';
import type { NodeWrite } from './api-server/nodes.ts';
import type { NodeServiceObject } from './node-services.ts';
import { isEditedLately } from './ours.ts';
import { startedNoteOn } from './started-note.ts';
import type { NodeTruth } from './truth.ts';
import type { Verdict } from './verdicts.ts';
import type { World } from './world.ts';

const FIRST_NODES = 10;

/** The taint of a NodeService as Nodes note it. */
function textOf({ spec: { publish } }: NodeServiceObject): string | undefined {
  const { taint } = publish;
  return taint && `${taint.key}=${taint.value}:${taint.effect}`;
}

function hasTaint({ spec }: Node, { spec: { publish } }: NodeServiceObject): boolean {
  const { key, value, effect } = publish.taint ?? {};
  return (
    spec?.taints?.some((each) => each.key === key && (each.value ?? '') === value && each.effect === effect) === true
  );
}

/** What this Node notes of taints, by uid of the NodeService. */
function notedOn(object: Node): Readonly<Record<string, string>> {
  const { node, taints = {} } = startedNoteOn(object);
  return node === object.metadata.uid ? taints : {};
}

/** §10: a taint that is new may not be on every node before it was seen to go from one: whether this one may lack it. */
export function mayWait({ nodes, truths }: World, { name }: NodeTruth, service: NodeServiceObject): boolean {
  const node = nodes.get(name);
  const isProven = nodes.all().some((each) => notedOn(each)[service.uid] === textOf(service));
  return truths.size > FIRST_NODES && !isProven && node !== undefined && !hasTaint(node, service);
}

/** §10: a taint that is new begins on 10 nodes, and reaches the rest once its service was seen ready on one of them. */
export class FirstTaints {
  readonly #world: World;
  /** By uid and taint: those whose service was seen ready where the taint was. */
  readonly #proven = new Set<string>();

  constructor(world: World) {
    this.#world = world;
  }

  look({ name }: NodeTruth, service: NodeServiceObject, verdict: Verdict): void {
    const node = this.#world.nodes.get(name);
    const isReady = verdict === 'ready' || verdict === 'open';
    if (isReady && node && hasTaint(node, service)) this.#proven.add(`${service.uid} ${textOf(service)}`);
  }

  /** What a write of rollcall broke of it. */
  written({ node, before, manager }: NodeWrite): string | undefined {
    if (manager !== FIELD_MANAGER || !before) return undefined;
    const [noted, notedBefore] = [notedOn(node), notedOn(before)];
    for (const { uid } of this.#world.services.values())
      if (notedBefore[uid] !== undefined && noted[uid] === undefined) return `${notedBefore[uid]} is noted no more`;
    for (const service of inForce(this.#world)) {
      const text = textOf(service);
      const isNew = text !== undefined && hasTaint(node, service) && !hasTaint(before, service);
      if (!isNew || this.#proven.has(`${service.uid} ${text}`)) continue;
      const tainted = this.#world.nodes.all().filter((each) => hasTaint(each, service) && !this.#isNews(each, service));
      if (tainted.length > FIRST_NODES) return `the new taint ${text} is on ${tainted.length} nodes`;
    }
    return undefined;
  }

  /** A person set the taint a moment ago, and rollcall may not know of it. */
  #isNews({ metadata: { name } }: Node, { spec: { publish } }: NodeServiceObject): boolean {
    const truth = this.#world.truths.get(name);
    return truth !== undefined && isEditedLately(this.#world, truth, `taint:${publish.taint?.key}`);
  }
}
