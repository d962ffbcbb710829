import {
  DO_NOT_DISRUPT,
  KARPENTER_POOL_LABEL,
  SCALE_DOWN_DISABLED,
  SCALE_DOWN_HOLD,
} from '@rollcall/common/well-known.ts';
import type { Claim, EvaluatedNode, Labeler } from './labeler.ts';

const NAMES_SHOWN = 5;

/**
 * Keeps autoscalers from removing a node that a workspace is on, whatever the workspace's phase and even while it is
 * being deleted: its backup may still run; and one with pods that a NodeHold names. A person's hold counts like a
 * workspace. The annotations are set by force, since a lost workspace is worse than a lost "false", and are released rather
 * than deleted.
 */
export const scaleDownLabeler: Labeler = {
  name: 'scale-down',
  claims: (node) =>
    keysFor(node).map((key) => ({ kind: 'annotation', key, value: 'true', ownership: 'forced', ...wish(node) })),
};

/** Karpenter's is for nodes of Karpenter. On others nothing is claimed, so that what is ours there is let go of. */
function keysFor({ labels }: EvaluatedNode): string[] {
  return labels[KARPENTER_POOL_LABEL] === undefined ? [SCALE_DOWN_DISABLED] : [SCALE_DOWN_DISABLED, DO_NOT_DISRUPT];
}

function wish(node: EvaluatedNode): Pick<Claim, 'stance' | 'reason' | 'cause'> {
  const stand = standOf(node);
  return { ...stand, cause: stand.stance === 'keep' ? 'unknown' : 'evidence' };
}

function standOf({ annotations, workspaces, holds }: EvaluatedNode): Pick<Claim, 'stance' | 'reason'> {
  if (annotations[SCALE_DOWN_HOLD] === 'true')
    return { stance: 'present', reason: `the annotation ${SCALE_DOWN_HOLD} requests it` };
  const reasons: string[] = [];
  if (workspaces && workspaces.length > 0) {
    const names = workspaces.map(({ namespace, name }) => `${namespace}/${name}`);
    reasons.push(`${workspaces.length === 1 ? 'workspace' : 'workspaces'} on the node: ${listOf(names)}`);
  }
  if (holds.pods.length > 0) {
    const names = holds.pods.map(({ namespace, name, hold }) => `${namespace}/${name} (${hold})`);
    const { count = names.length } = holds;
    reasons.push(`${count === 1 ? 'pod of a NodeHold' : 'pods of NodeHolds'} on the node: ${listOf(names, count)}`);
  }
  if (reasons.length > 0) return { stance: 'present', reason: reasons.join('; ') };
  if (!workspaces) return { stance: 'keep', reason: 'the Workspaces have not been listed yet' };
  if (holds.unknown !== undefined) return { stance: 'keep', reason: holds.unknown };
  return { stance: 'absent', reason: 'no workspace and no pod of a NodeHold is on the node' };
}

function listOf(names: readonly string[], count = names.length): string {
  const rest = count - NAMES_SHOWN;
  return `${names.slice(0, NAMES_SHOWN).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
