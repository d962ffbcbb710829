import { SCHEDULING_HINT_ANNOTATION as key } from '@rollcall/common/well-known.ts';
import type { Claim, Labeler } from './labeler.ts';

/**
 * kube-scheduler tries again with a pod that an extender refused when a Node changes, and not when the extender would say
 * something else by now. So the Node is made to change. What an earlier leader wrote means nothing more, and stays.
 */
export const schedulingHintLabeler: Labeler = {
  name: 'scheduling-hint',
  claims: ({ schedulingHint, annotations, ownedAnnotations }): Claim[] => {
    const claim = { kind: 'annotation', key, ownership: 'forced', cause: 'evidence' } as const;
    if (schedulingHint !== undefined) {
      const reason = 'tells kube-scheduler to try again with pods that were refused here';
      return [{ ...claim, value: schedulingHint, stance: 'present', reason }];
    }
    const there = annotations[key];
    if (there === undefined || !ownedAnnotations.has(key)) return [];
    return [{ ...claim, value: there, stance: 'keep', reason: 'told kube-scheduler to try again, some time ago' }];
  },
};
