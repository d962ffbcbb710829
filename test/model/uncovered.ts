import type { KubeRequest } from '@rollcall/coordinator/kube/client.ts';
import type { CoordinatorProcess } from './coordinator-process.ts';

/** Clocks that are slewed differ by less in the time between two renewals. */
const CLEARLY_MS = 1000;

/**
 * §11: where the wall clock advanced clearly more than the monotonic one since the last renewal, the Lease no longer
 * covers a write: the machine may have been suspended, and another replica may lead. Returns what such a request broke.
 */
export function uncovered(
  { clock, replica: { renewed } }: CoordinatorProcess,
  { method, path }: Pick<KubeRequest, 'method' | 'path'>,
): string | undefined {
  if (!renewed) return `a replica that never led sent ${method} ${path}`;
  const aheadMs = clock.now() - renewed.wallMs - (clock.monotonic() - renewed.monotonicMs);
  if (aheadMs <= CLEARLY_MS) return undefined;
  return `${method} ${path} was sent although the wall clock advanced ${aheadMs} ms more since the last renewal`;
}
