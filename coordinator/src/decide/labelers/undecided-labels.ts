import {
  DEVICE_IDENTITY_PREFIX,
  DEVICE_TREE_PREFIX,
  FACT_PREFIX,
  NFD_PCI_PREFIX,
  NFD_USB_PREFIX,
} from '@rollcall/common/well-known.ts';
import { NOTHING_UNDECIDED, type Undecided, type UndecidedLabel } from '../../model/undecided.ts';
import type { NodeSnapshot } from '../../state/snapshot.ts';
import { busesOf } from './device-grammar.ts';
import type { Rules } from './implied-labels.ts';

const NO_AGENT = 'no agent has reported the machine yet';
/** Agents alone decide about labels with the first, and about those of facts; others write the rest, too. */
const OWN_PREFIXES = [DEVICE_IDENTITY_PREFIX];
const SHARED_PREFIXES = [NFD_USB_PREFIX, NFD_PCI_PREFIX, DEVICE_TREE_PREFIX];

/**
 * The labels of devices and facts that a node may still get, because its agent has not said all yet. Where there is no
 * agent, others decide about the labels that they write, too; and a label that only an agent could set counts as absent
 * where it is asked for, but not where its absence is.
 */
export function undecidedByAgent(
  { machine, freshness }: Pick<NodeSnapshot, 'machine' | 'freshness'>,
  factLabels: readonly string[],
): Undecided {
  const unread = machine?.unread ?? [];
  if (machine && unread.length === 0) return NOTHING_UNDECIDED;
  const isShared = freshness.state !== 'absent' && freshness.state !== 'none';
  const isOver = (isDenied: boolean) => !isShared && !isDenied;
  const doubtOf = (source: string) => {
    if (!machine) return NO_AGENT;
    return unread.some((each) => each === source) ? `the agent cannot read ${source} (yet)` : undefined;
  };
  const isFact = (key: string) => key.startsWith(FACT_PREFIX) && factLabels.includes(key.slice(FACT_PREFIX.length));
  return {
    isAgentless: freshness.state === 'none',
    label: (key, isDenied) => {
      if (isOver(isDenied)) return undefined;
      if (isFact(key)) return doubtOf('facts');
      if (!key.startsWith(DEVICE_IDENTITY_PREFIX) && !(isDenied && isShared)) return undefined;
      const buses = busesOf(key);
      return buses.map(doubtOf).find((doubt) => doubt !== undefined);
    },
    matching: (glob, isDenied) => {
      if (isOver(isDenied)) return undefined;
      const facts = factLabels.length > 0 ? [FACT_PREFIX] : [];
      const prefixes = [...OWN_PREFIXES, ...facts, ...(isDenied && isShared ? SHARED_PREFIXES : [])];
      if (!prefixes.some((prefix) => mayBeginWith(glob, prefix))) return undefined;
      return machine ? `the agent cannot read ${unread.join(', ')} (yet)` : NO_AGENT;
    },
  };
}

function mayBeginWith(glob: string, prefix: string): boolean {
  const [head = ''] = glob.split('*');
  return head.startsWith(prefix) || (head !== glob && prefix.startsWith(head));
}

/**
 * The labels of devices and facts that a node may still get, and of rules that build on them. The rules are evaluated when
 * the first of their labels is asked for.
 */
export function undecidedLabels(
  factLabels: readonly string[],
  rules: (() => Rules) | undefined,
): (node: NodeSnapshot) => UndecidedLabel {
  return (node) => {
    // No label of an agent comes.
    if (node.freshness.state === 'none') return () => undefined;
    const byAgent = undecidedByAgent(node, factLabels);
    let unknown: ReadonlyMap<string, string> | undefined;
    return (key) => {
      const doubt = byAgent.label(key, true);
      const all = rules?.();
      if (doubt !== undefined || !all?.labels.has(key)) return doubt;
      unknown ??= all.evaluate(node.labels, node.inventory, byAgent).unknown;
      return unknown.get(key);
    };
  };
}
