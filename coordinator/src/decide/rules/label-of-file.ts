import { isLabelKey } from '@rollcall/common/label-syntax.ts';

/** Says why rollcall must not set a label, or nothing. */
export type Refuse = (label: string) => string | undefined;

/**
 * The label that a rule file gives, out of its path relative to the label directory, with `/` between the parts:
 * `NAMESPACE/LABEL` and `LABEL` are labels as they are. What cannot be one is told by `problem`.
 */
export function labelOfFile(file: string, refuse: Refuse): { label: string } | { problem: string } {
  if (file.split('/').length > 2) return { problem: 'is too deep: rule files are NAMESPACE/LABEL or LABEL' };
  if (!isLabelKey(file)) return { problem: 'is not a valid label key' };
  const reason = refuse(file);
  return reason === undefined ? { label: file } : { problem: reason };
}
