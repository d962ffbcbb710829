import type { NodeDocument } from '@rollcall/common/console.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import type { Rig } from '../../rig/rig.ts';

type ServiceDocument = NodeDocument['services'][number];
type KeyDocument = NodeDocument['keys'][number];

export function serviceIn(document: NodeDocument, name: string): ServiceDocument {
  const found = document.services.find((service) => service.name === name);
  if (!found) throw new Error(`The page of ${document.name} does not know ${name}`);
  return found;
}

export function keyIn(document: NodeDocument, key: string): KeyDocument {
  const found = document.keys.find((each) => each.key === key);
  if (!found) throw new Error(`The page of ${document.name} does not know ${key}`);
  return found;
}

/** Waits until the leader's page of a node is so, and returns it. */
export async function untilExplained(
  rig: Rig,
  node: string,
  isSo: (document: NodeDocument) => boolean,
  timeoutMs = 20_000,
): Promise<NodeDocument> {
  const leader = await rig.leader();
  let last: NodeDocument | undefined;
  const check = async () => {
    last = await leader.explain(node);
    return isSo(last) ? last : undefined;
  };
  try {
    return await waitFor(`the page of ${node}`, check, { timeoutMs });
  } catch (error) {
    throw new Error(`${String(error)}; it says ${JSON.stringify(last, null, 2)}`);
  }
}

/** The same, of one service. */
export async function untilServiceExplained(
  rig: Rig,
  node: string,
  service: string,
  isSo: (document: ServiceDocument) => boolean,
): Promise<ServiceDocument> {
  return serviceIn(await untilExplained(rig, node, (document) => isSo(serviceIn(document, service))), service);
}
