import type { CauseDocument, KeyDocument, NodeDocument, NodeServiceDocument } from './console.ts';
import { stepsOf } from './steps.ts';
import { STARTUP_TAINT } from './well-known.ts';

type KeyFacts = Omit<KeyDocument, 'cause' | 'agrees'>;
/** A service in the document of a node, without the sentences that follow from its facts. */
export type ServiceFacts = Omit<NodeServiceDocument, 'steps'>;
type NodeFacts = Omit<NodeDocument, 'cause' | 'keys' | 'services'> & {
  keys: readonly KeyFacts[];
  services: readonly ServiceFacts[];
};

/** The document of a node, with the cause of what it is and of each key, and the steps to it: all who show it say the same. */
export function withCauses(facts: NodeFacts): NodeDocument {
  return {
    ...facts,
    cause: nodeCause(facts),
    services: facts.services.map((service) => ({ ...service, steps: stepsOf(service, facts) })),
    keys: facts.keys.map((key) => ({ ...key, cause: keyCause(facts, key), agrees: agreement(facts, key) })),
  };
}

function agreement(document: NodeFacts, key: KeyFacts): KeyDocument['agrees'] {
  const { stance, onNode, pending, skipped } = key;
  if (stance === 'keep' || onNode === undefined) return 'open';
  if (pending) return 'no';
  // A key that is left to another writer would be wanted.
  const isWanted = stance === 'present' || skipped !== undefined;
  if (isThere(key) === isWanted) return 'yes';
  return obstacleOf(key, document) ? 'no' : 'open';
}

/** The cause for one key. */
function keyCause(document: NodeFacts, key: KeyFacts): CauseDocument {
  const { replica, name } = document;
  const what = `${key.kind} ${key.key}`;
  const where = `node/${name}`;
  const there = isThere(key);
  const other = !there && typeof key.onNode === 'string';
  const is = there ? 'has' : other ? `has ${JSON.stringify(key.onNode)} as` : 'does not have';
  if (!replica.leading) return notLeading(document);
  if (isClosedGate(key)) {
    const next = 'rollcall removes the taint when nothing is missing any more.';
    return { isWell: false, headline: `${where} still has the startup taint: ${key.reason}`, next };
  }
  const service = document.services.find((each) => each.name === key.service);
  const obstacle = obstacleOf(key, document);
  if (obstacle)
    return { isWell: false, headline: `${where} ${is} the ${what}: ${obstacle.because}`, next: obstacle.next };
  if (service && key.stance !== 'present') {
    const cause = serviceCause(document, service);
    if (!cause.isWell) return { ...cause, headline: `${where} ${is} the ${what}: ${cause.headline}` };
  }
  const isWell = key.stance === 'keep' ? true : there === (key.stance === 'present');
  return {
    isWell,
    headline: `${where} ${is} the ${what}: ${key.reason}`,
    next: isWell ? STANCES[key.stance] : key.pending ? 'The write is pending.' : 'No write is planned.',
  };
}

const STANCES = {
  present: 'rollcall wants it, and it is present.',
  absent: 'rollcall does not want it, and it is absent.',
  keep: 'It stays as it is, since the state is unknown.',
} as const;

/** How the reason of a check begins that the agent refuses to make. */
const NOT_PROBED = 'not probed: ';

/** Why a service is what it is on a node. */
function serviceCause(document: NodeFacts, service: ServiceFacts): CauseDocument {
  const { replica, agent } = document;
  const { name, state, reason = '', heldBack, pods, checks } = service;
  if (state === undefined) {
    return {
      isWell: true,
      headline: `${name} does not apply to this node`,
      next: 'Its nodeSelector does not select the node.',
    };
  }
  if (state === 'ready')
    return { isWell: true, headline: `${name} is ready: ${reason}`, next: 'Nothing needs to change.' };
  if (heldBack) {
    const left = Math.max(0, Math.ceil((Date.parse(heldBack.until) - Date.parse(replica.now)) / 1000));
    const headline = `${name} is held back for another ${left} s: it became not ready ${heldBack.falls} times in 5 minutes`;
    return {
      isWell: false,
      headline,
      next: 'If it stays ready, it counts as ready after that time. Find out why it fails again and again.',
    };
  }
  if (state === 'unknown')
    return { isWell: false, headline: `the state of ${name} is unknown: ${reason}`, next: unknownNext(document) };
  const headline = `${name} is not ready: ${reason}`;
  if (agent.state === 'silent' || agent.state === 'absent') {
    const next = `Its agent has to report again; find its pod: kubectl get pods -A -o wide --field-selector spec.nodeName=${document.name}`;
    return { isWell: false, headline, next };
  }
  const pod = pods.find(({ terminating }) => !terminating) ?? pods[0];
  if (!pod && reason.includes('no pod')) {
    return {
      isWell: false,
      headline,
      next: 'A pod of the service has to run on the node: check its DaemonSet, its tolerations and its node selector.',
    };
  }
  if (pod?.terminating) return { isWell: false, headline, next: 'A new pod has to replace it and become Ready.' };
  if (pod && !pod.ready) {
    const [namespace, podName] = pod.pod.split('/');
    return {
      isWell: false,
      headline,
      next: `The pod has to become Ready: kubectl -n ${namespace} describe pod ${podName}`,
    };
  }
  const failed = checks.filter((check) => check.state === 'not-ready').map((check) => check.name);
  if (failed.length === 0) return { isWell: false, headline, next: 'All its checks have to pass.' };
  if (checks.some((check) => check.state === 'not-ready' && check.reason.startsWith(NOT_PROBED))) {
    const next =
      'Agents do not ask this: change the check, or permit it, as agent.probePaths of the chart does for sockets and files.';
    return { isWell: false, headline, next };
  }
  const what = failed.length === 1 ? `The check ${failed[0]} has` : `The checks ${failed.join(', ')} have`;
  return { isWell: false, headline, next: `${what} to pass: look at the service on the node.` };
}

function unknownNext({ agent }: NodeFacts): string {
  if (agent.guard !== undefined)
    return 'Its keys stay as they are while the guard is active. Most agents are silent: check the network first.';
  if (agent.state === 'unheard') return 'Its keys stay as they are until the agent reports or counts as silent.';
  return 'Its keys stay as they are.';
}

/** What keeps a key from being as it is wanted. */
function obstacleOf(key: KeyFacts, { replica }: NodeFacts): { because: string; next: string } | undefined {
  const { contested, skipped, removalRefused } = key;
  if (contested) {
    return {
      because: `${contested.rival} keeps changing it`,
      next: `rollcall writes it again in ${contested.nextTrySeconds} s, then less and less often. Stop the other writer.`,
    };
  }
  if (skipped?.cause === 'foreign') {
    return {
      because: key.stance === 'absent' ? key.reason : `it is ${skipped.message}`,
      next: 'rollcall leaves it as it is until the other owner releases it.',
    };
  }
  if (skipped) {
    const next =
      skipped.cause === 'denied'
        ? 'Change the policy or webhook so that the coordinator may write it.'
        : 'Request a key and a value that the API server accepts.';
    return { because: `the API server refuses it: ${skipped.message}`, next };
  }
  if (removalRefused !== undefined) {
    return {
      because: `the API server refuses its removal: ${removalRefused}`,
      next: 'rollcall tries again every 30 s.',
    };
  }
  const isWrong = key.stance !== 'keep' && isThere(key) !== (key.stance === 'present');
  if (replica.dryRun && isWrong) {
    const wish = key.stance === 'present' ? 'set' : 'remove';
    return {
      because: `rollcall would ${wish} it (${key.reason}), but this is a dry run`,
      next: 'rollcall writes nothing until you turn off --dry-run.',
    };
  }
  return undefined;
}

function isThere({ onNode, value, kind }: KeyFacts): boolean {
  if (onNode === null || onNode === undefined) return false;
  // A taint counts whatever its value; a label with another value does not.
  return kind === 'taint' || onNode === value;
}

/** New nodes have the taint until they are labelled. */
function isClosedGate({ key, stance, onNode }: KeyFacts): boolean {
  return key === STARTUP_TAINT && stance === 'keep' && typeof onNode === 'string';
}

function notLeading({ replica }: Pick<NodeFacts, 'replica'>): CauseDocument {
  const who = replica.leader === undefined ? 'No leader is known.' : `Ask the leader, ${replica.leader}.`;
  return {
    isWell: false,
    headline: 'The state is unknown: the replica that answered does not lead',
    next: who,
  };
}

/** What is worth saying of a node as a whole: the first thing that is not well. */
function nodeCause(document: NodeFacts): CauseDocument {
  const { replica, name, keys, services, agent } = document;
  if (!replica.leading) return notLeading(document);
  const inForce = services.filter(({ dryRun }) => !dryRun);
  const troubled = inForce.map((service) => serviceCause(document, service)).find(({ isWell }) => !isWell);
  const obstructed = keys.find((key) => obstacleOf(key, document));
  if (obstructed && (!troubled || !obstructed.service)) return keyCause(document, obstructed);
  if (troubled) return { ...troubled, headline: `node/${name}: ${troubled.headline}` };
  const gate = keys.find(isClosedGate);
  if (gate) return keyCause(document, gate);
  const heard =
    agent.lastReportSecondsAgo === undefined ? '' : `, and its agent reported ${agent.lastReportSecondsAgo} s ago`;
  const ready = inForce.filter(({ state }) => state === 'ready').length;
  return {
    isWell: true,
    headline: `node/${name} is as rollcall wants it: ${ready} of ${inForce.length} services are ready${heard}`,
    next: 'Nothing needs to change.',
  };
}
