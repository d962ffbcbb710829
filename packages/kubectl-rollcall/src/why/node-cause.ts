import type { KeyDocument, NodeDocument, NodeServiceDocument } from '@rollcall/common/console.ts';
import { STARTUP_TAINT } from '@rollcall/common/well-known.ts';
import { duration } from '../text/duration.ts';

/** Why something is as it is: the cause in one sentence, and what would change it. */
export type Cause = {
  /** Whether it is as one would wish. */
  isWell: boolean;
  headline: string;
  next: string;
};

/** The cause for one key. */
export function keyCause(document: NodeDocument, key: KeyDocument): Cause {
  const { replica, name } = document;
  const what = `${key.kind} ${key.key}`;
  const where = `node/${name}`;
  const there = isThere(key);
  const other = !there && typeof key.onNode === 'string';
  const is = there ? 'has' : other ? `has ${JSON.stringify(key.onNode)} as` : 'does not have';
  if (!replica.leading) return notLeading(document);
  if (isClosedGate(key)) {
    const next = 'The taint goes when all that is required is there, or when the time for it is over.';
    return { isWell: false, headline: `${where} waits at the startup gate: ${key.reason}`, next };
  }
  const service = document.services.find((each) => each.name === key.service);
  const obstacle = obstacleOf(key, document);
  if (obstacle)
    return { isWell: false, headline: `${where} ${is} the ${what}: ${obstacle.because}`, next: obstacle.next };
  if (service && key.stance !== 'want') {
    const cause = serviceCause(document, service);
    if (!cause.isWell) return { ...cause, headline: `${where} ${is} the ${what}: ${cause.headline}` };
  }
  const isWell = key.stance === 'hold' ? true : there === (key.stance === 'want');
  return {
    isWell,
    headline: `${where} ${is} the ${what}: ${key.reason}`,
    next: isWell ? STANCES[key.stance] : 'It is about to be written.',
  };
}

const STANCES = {
  want: 'It is wanted, and it is there.',
  withhold: 'It is to be absent, and it is.',
  hold: 'It stays as it is, since nobody can tell now.',
} as const;

/** Why a service is what it is on a node. */
function serviceCause(document: NodeDocument, service: NodeServiceDocument): Cause {
  const { replica, agent } = document;
  const { name, state, reason = '', heldBack, pods, probe } = service;
  if (state === undefined) {
    return {
      isWell: true,
      headline: `${name} is not for this node`,
      next: 'Its nodeSelector does not select the node.',
    };
  }
  if (state === 'ready')
    return { isWell: true, headline: `${name} is ready: ${reason}`, next: 'Nothing needs to change.' };
  if (heldBack) {
    const left = duration(Date.parse(heldBack.until) - Date.parse(replica.now));
    const headline = `${name} is held back for ${left}: it became not ready ${heldBack.falls} times in 5 minutes`;
    return {
      isWell: false,
      headline,
      next: 'It is admitted when that time is over, if it stays ready; find out why it comes and goes.',
    };
  }
  if (state === 'unknown')
    return { isWell: false, headline: `${name}: nobody can tell now: ${reason}`, next: unknownNext(document) };
  const headline = `${name} is not ready: ${reason}`;
  if (agent.state === 'silent' || agent.state === 'absent') {
    const next = `Its agent has to be heard again: kubectl get pods -A -o wide --field-selector spec.nodeName=${document.name}`;
    return { isWell: false, headline, next };
  }
  const pod = pods.find(({ terminating }) => !terminating) ?? pods[0];
  if (!pod && reason.includes('no pod')) {
    return {
      isWell: false,
      headline,
      next: 'A pod of it has to run on the node: see its DaemonSet, its tolerations and its node selector.',
    };
  }
  if (pod?.terminating) return { isWell: false, headline, next: 'A new pod has to take its place, and become Ready.' };
  if (pod && !pod.ready) {
    const [namespace, podName] = pod.pod.split('/');
    return {
      isWell: false,
      headline,
      next: `The pod has to become Ready: kubectl -n ${namespace} describe pod ${podName}`,
    };
  }
  if (probe && !probe.ready)
    return {
      isWell: false,
      headline,
      next: 'The probe has to succeed: what the agent sees, pods on the node see as well.',
    };
  return { isWell: false, headline, next: 'All evidence has to say that it is ready.' };
}

function unknownNext({ agent }: NodeDocument): string {
  if (agent.guard !== undefined)
    return 'What the node shows stays until the guard clears: most agents are silent, so look at the network first.';
  if (agent.state === 'unheard')
    return 'What the node shows stays until its agent is heard, or for one window at most.';
  return 'What the node shows stays as it is.';
}

/** What keeps a key from being as it is wanted. */
function obstacleOf(key: KeyDocument, { replica }: NodeDocument): { because: string; next: string } | undefined {
  const { contested, setAside, removalRefused } = key;
  if (contested) {
    return {
      because: `${contested.rival} goes on changing it`,
      next: `It is written again in ${contested.nextTrySeconds} s, and less and less often: remove the other writer.`,
    };
  }
  if (setAside?.cause === 'foreign') {
    return {
      because: key.stance === 'withhold' ? key.reason : `somebody else owns it: ${setAside.message}`,
      next: 'It is left alone until the other lets go of it.',
    };
  }
  if (setAside) {
    const next =
      setAside.cause === 'denied'
        ? 'The policy or webhook has to let the coordinator write it.'
        : 'Another key or value has to be asked for.';
    return { because: `the API server refuses it: ${setAside.message}`, next };
  }
  if (removalRefused !== undefined) {
    return { because: `the API server refuses its removal: ${removalRefused}`, next: 'It is tried again every 30 s.' };
  }
  const isWrong = key.stance !== 'hold' && isThere(key) !== (key.stance === 'want');
  if (replica.dryRun && isWrong) {
    const wish = key.stance === 'want' ? 'would be set' : 'would be removed';
    return {
      because: `it ${wish} (${key.reason}), but this is a dry run`,
      next: 'Nothing is written until --dry-run is off.',
    };
  }
  return undefined;
}

function isThere({ onNode, value, kind }: KeyDocument): boolean {
  if (onNode === null || onNode === undefined) return false;
  // A taint counts whatever its value; a label with another value does not.
  return kind === 'taint' || onNode === value;
}

/** New nodes have the taint until they are labelled. */
function isClosedGate({ key, stance, onNode }: KeyDocument): boolean {
  return key === STARTUP_TAINT && stance === 'hold' && typeof onNode === 'string';
}

function notLeading({ replica }: Pick<NodeDocument, 'replica'>): Cause {
  const who = replica.leader === undefined ? 'Nobody is known to lead.' : `${replica.leader} leads.`;
  return {
    isWell: false,
    headline: 'It cannot be told: the replica that answered does not lead',
    next: `${who} Ask that one.`,
  };
}

/** What is worth saying of a node as a whole: the first thing that is not well. */
export function nodeCause(document: NodeDocument): Cause {
  const { replica, name, keys, services, agent } = document;
  if (!replica.leading) return notLeading(document);
  const troubled = services.map((service) => serviceCause(document, service)).find(({ isWell }) => !isWell);
  const obstructed = keys.find((key) => obstacleOf(key, document));
  if (obstructed && (!troubled || !obstructed.service)) return keyCause(document, obstructed);
  if (troubled) return { ...troubled, headline: `node/${name}: ${troubled.headline}` };
  if (obstructed) return keyCause(document, obstructed);
  const gate = keys.find(isClosedGate);
  if (gate) return keyCause(document, gate);
  const heard =
    agent.lastReportSecondsAgo === undefined ? '' : `, and its agent was heard ${agent.lastReportSecondsAgo} s ago`;
  const ready = services.filter(({ state }) => state === 'ready').length;
  return {
    isWell: true,
    headline: `node/${name} is as rollcall wants it: ${ready} of ${services.length} services are ready${heard}`,
    next: 'Nothing needs to change.',
  };
}
