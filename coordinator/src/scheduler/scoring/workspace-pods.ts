import type { ObservedWorkspacePod } from '../../state/observed-workspace-pod.ts';
import type { NodeWorkspaces } from './schedulable-node.ts';

/** Counts the workspaces' pods of one node. */
export function countWorkspaces(pods: readonly ObservedWorkspacePod[]): NodeWorkspaces {
  const starting = pods.filter((pod) => pod.starting).length;
  const images = new Set(pods.flatMap((pod) => pod.images.split(' ').filter(Boolean)));
  const asked = { cpu: 0, memory: 0 };
  for (const { cpu, memory } of pods) {
    asked.cpu += cpu;
    asked.memory += memory;
  }
  return { running: pods.length - starting, starting, images, asked };
}
