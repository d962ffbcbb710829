/** What would be at fault where many nodes lose something at once, besides the nodes themselves. */
export const SUBJECTS = ['agents', 'reporters', 'target', 'agent-version', 'configuration', 'taint-budget'] as const;

export type Subject = (typeof SUBJECTS)[number];

/**
 * A guard that acts. `of`: the pool or the fleet, the check, the label or the service that it is about. `nodes`: from how many
 * nodes it keeps something.
 */
export type ActiveGuard = { subject: Subject; of: string; nodes: number };

type Words = { says: (of: string, nodes: string) => string; cure: string };

const WORDS: Record<Subject, Words> = {
  agents: {
    says: (of, nodes) => `most agents are silent at once (${of}), so silence removes nothing from ${nodes}`,
    cure: 'check the network between nodes and coordinator (port 8443), and the latest rollout',
  },
  reporters: {
    says: (of, nodes) =>
      `most reporters of a condition are away at once (${of}), so this removes nothing from ${nodes}`,
    cure: 'check the pods that report the condition',
  },
  target: {
    says: (of, nodes) => `the check ${of} fails on most nodes at once, so it is held against none of ${nodes}`,
    cure: 'check the DNS of the cluster, its network plugin and the Service of the API server',
  },
  'agent-version': {
    says: (of, nodes) =>
      `most agents that were replaced in the last 10 minutes no longer see ${of}, although its pods are Ready, so its keys stay on ${nodes}`,
    cure: 'if the new agents are wrong, roll them back',
  },
  configuration: {
    says: (of, nodes) =>
      `many nodes would lose ${of} at once, because the configuration was changed, so it stays on ${nodes} for a while`,
    cure: 'if the latest change of the configuration was a mistake, undo it',
  },
  'taint-budget': {
    says: (of, nodes) => `${of} closes as many nodes as it may, and is not ready on ${nodes} more, which stay open`,
    cure: 'repair the service, or raise its publish.taint.maxUnavailable; its status names the nodes',
  },
};

/** A guard as a sentence for people, without a full stop. */
export function guardText({ subject, of, nodes }: ActiveGuard): string {
  const says = wordsOf(subject)?.says(of, nodes === 1 ? '1 node' : `${nodes} nodes`) ?? of;
  return `A guard is active (${subject}): ${says}`;
}

/** What a person can do about a guard that acts. */
export function guardCure({ subject }: Pick<ActiveGuard, 'subject'>): string {
  return wordsOf(subject)?.cure ?? 'see the documentation of this version of the coordinator';
}

/** A coordinator of another version may have others. */
function wordsOf(subject: string): Words | undefined {
  return Object.hasOwn(WORDS, subject) ? WORDS[subject as Subject] : undefined;
}
