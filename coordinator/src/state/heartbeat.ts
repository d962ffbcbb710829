/** What one core takes with ease, TLS included, while it has other things to do. */
const REPORTS_PER_SECOND_MAX = 5000;

const HEARTBEAT_SECONDS = 10;

/**
 * Seconds between two reports of a node. It grows with the fleet, so that the load stays level, and stays well below
 * half of the window after which a node counts as silent: one report may be lost.
 */
export function heartbeatSeconds(nodes: number, windowSeconds: number): number {
  const unhurried = Math.min(HEARTBEAT_SECONDS, windowSeconds / 3);
  const stretched = nodes / REPORTS_PER_SECOND_MAX;
  return Math.min(windowSeconds * 0.45, Math.max(unhurried, stretched));
}
