import { SCALE_DOWN_DISABLED, SCALE_DOWN_HOLD } from '@rollcall/common/well-known.ts';
import type { NodeSnapshot } from '../fleet/snapshot.ts';
import type { Claim, Labeler } from './labeler.ts';

const NAMES_SHOWN = 5;

/**
 * Keeps cluster-autoscaler from removing a node that a workspace is on, whatever the workspace's phase and even while it
 * is being deleted: its backup may still run. A person's hold counts like a workspace. The annotation is set by force,
 * as a lost workspace is worse than a lost "false", and is released rather than deleted.
 */
export const scaleDownLabeler: Labeler = {
  name: 'scale-down',
  claims: (snapshot) => [
    { kind: 'annotation', key: SCALE_DOWN_DISABLED, value: 'true', ownership: 'forced', ...wish(snapshot) },
  ],
};

function wish({ annotations, workspaces }: NodeSnapshot): Pick<Claim, 'stance' | 'reason'> {
  if (annotations[SCALE_DOWN_HOLD] === 'true')
    return { stance: 'want', reason: `the annotation ${SCALE_DOWN_HOLD} asks for it` };
  if (!workspaces) return { stance: 'hold', reason: 'the workspaces are not known yet' };
  if (workspaces.length === 0) return { stance: 'withhold', reason: 'no workspace is on the node' };
  const shown = workspaces.slice(0, NAMES_SHOWN).map(({ namespace, name }) => `${namespace}/${name}`);
  const rest = workspaces.length - shown.length;
  const list = `${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
  return { stance: 'want', reason: `${workspaces.length === 1 ? 'workspace' : 'workspaces'} on the node: ${list}` };
}
