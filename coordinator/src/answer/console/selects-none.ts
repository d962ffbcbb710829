import type { LabelSelector } from '@rollcall/common/checks/label-selector.ts';
import { nearest } from '@rollcall/common/config/option.ts';
import { formatRequirement, isMet, requirementsOf, selects } from '../../model/label-selector.ts';

export type Labels = Readonly<Record<string, string>>;

const COMPARED_MAX = 500;
const NAMED_MAX = 5;

/**
 * Returns why a selector selects none of these nodes, as a clause: the first term that none meets, with values that nodes
 * have, the nearest first. `undefined` if it selects a node.
 */
export function whySelectsNone(selector: LabelSelector | undefined, nodes: readonly Labels[]): string | undefined {
  if (nodes.length === 0) return 'there are no nodes';
  const term = requirementsOf(selector).find((each) => !nodes.some((labels) => isMet(each, labels)));
  if (!term) {
    const isSome = nodes.some((labels) => selects(selector, labels));
    return isSome ? undefined : 'each term is met by some node, but no node meets all of them';
  }
  const { key, values: wanted = [] } = term;
  const values = distinct(nodes.flatMap((labels) => (Object.hasOwn(labels, key) ? (labels[key] ?? '') : [])));
  if (values.length === 0) {
    const meant = nearest(key, distinct(nodes.flatMap(Object.keys)));
    return `no node has the label ${key}${meant === undefined ? '' : `, did you mean ${meant}?`}`;
  }
  const meant = wanted.flatMap((value) => nearest(value, values) ?? []);
  const named = distinct([...meant, ...values]);
  const more = named.length > NAMED_MAX ? ', …' : '';
  return `no node meets ${formatRequirement(term)}, the nodes have ${key} = ${named.slice(0, NAMED_MAX).join(', ')}${more}`;
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)].slice(0, COMPARED_MAX);
}
