import type { ApiClient } from '../control-plane/api-client.ts';
import { eachOf } from './each-of.ts';
import { type PatchKind, patchNode } from './patch-node.ts';

/**
 * Milliseconds that a bare loop needs to set two labels on every node, one PATCH a node. The labels are another field
 * manager's, as long as rollcall's, and are gone again afterwards.
 */
export async function measureFloor(
  client: ApiClient,
  names: readonly string[],
  { kind, concurrency }: { kind: PatchKind; concurrency: number },
): Promise<number> {
  const keys = ['floor.io/ws-daemon_ready_ns_default', 'floor.io/registry-facade_ready_ns_default'];
  const write = (value: string | null) => {
    const labels = kind === 'apply' && value === null ? {} : Object.fromEntries(keys.map((key) => [key, value]));
    return eachOf(names, concurrency, (name) => patchNode(client, { kind, name, manager: `floor-${kind}`, labels }));
  };
  const startMs = performance.now();
  await write('true');
  const tookMs = performance.now() - startMs;
  await write(null);
  return tookMs;
}
