import { cleanDocument } from '@rollcall/common/clean.ts';
import { nearest } from '@rollcall/common/config/option.ts';
import type { NodeDocument, RuleOnNodeDocument, ScheduleDocument, ServicesDocument } from '@rollcall/common/console.ts';
import { KubeApiError } from '../cluster/kube-api.ts';
import { CommandFailure, EXIT } from '../failure.ts';
import { mustLead, printedFor, type Surroundings } from '../surroundings.ts';
import { whyNodeText } from '../why/node-text.ts';
import type { NodeObject } from '../why/owners.ts';
import { type PastEvent, pastEvents } from '../why/past-events.ts';
import { whyPodText } from '../why/pod-text.ts';
import { whyRuleText } from '../why/rule-text.ts';
import { whyServiceText } from '../why/service-text.ts';
import { missingCrds, unknownKey } from '../why/unknown-key.ts';

/** `subject`: node/NAME, nodeservice/NAME or pod/NAMESPACE/NAME. Returns the exit code. */
export function why(surroundings: Surroundings, subject: string, key: string | undefined): Promise<number> {
  const [kind = '', ...names] = subject.split('/');
  if (/^(node|nodes|no)$/.test(kind) && names.length === 1 && names[0]) return whyNode(surroundings, names[0], key);
  if (/^(pod|pods|po)$/.test(kind) && names.length === 2 && names[0] && names[1] && key === undefined) {
    return whyPod(surroundings, names[0], names[1]);
  }
  if (/^(pod|pods|po)$/.test(kind) && names.length === 2) {
    const cure = `leave out ${key}; only nodes have keys: node/NAME KEY`;
    throw new CommandFailure('A key can be given for a node only, not for a pod', cure, { exitCode: EXIT.usage });
  }
  if (/^(nodeservice|nodeservices|nsvc)$/.test(kind) && names.length === 1 && names[0] && key === undefined) {
    return whyService(surroundings, names[0]);
  }
  const cure =
    names.length === 0 && /^(?!(node|pod|nodeservice)$)./.test(subject)
      ? `write node/${subject}, nodeservice/${subject}, or pod/NAMESPACE/${subject}`
      : 'write node/NAME, node/NAME KEY, nodeservice/NAME, or pod/NAMESPACE/NAME';
  throw new CommandFailure(`"${subject}" is neither a node, a NodeService nor a pod`, cure, { exitCode: EXIT.usage });
}

async function whyNode(surroundings: Surroundings, name: string, wanted: string | undefined): Promise<number> {
  const document = await surroundings.withConsole((console) =>
    console.find<NodeDocument>(`/v1/nodes/${encodeURIComponent(name)}`),
  );
  if (!document)
    throw new CommandFailure(`rollcall does not know the node ${name}`, 'list the nodes: kubectl get nodes', {
      exitCode: EXIT.notSo,
    });
  const key = wanted === undefined ? undefined : document.keys.find((each) => each.key === wanted);
  if (wanted !== undefined && !key) {
    const rule = await ruleFor(surroundings, name, wanted);
    if (!rule) throw unknownKey(document, wanted, await missingCrds(surroundings.kube));
    if (!printedFor(surroundings, rule)) surroundings.print(whyRuleText(cleanDocument(rule), surroundings.terminal));
    return document.replica.leading ? EXIT.notSo : EXIT.unknown;
  }
  if (printedFor(surroundings, key ? { ...document, keys: [key] } : document)) {
    return document.replica.leading ? EXIT.ok : EXIT.unknown;
  }
  const node = await readNode(surroundings, name);
  const events = await readPast(surroundings, document);
  const shown = cleanDocument(document);
  const shownKey = key && shown.keys[document.keys.indexOf(key)];
  const { isWell, text } = whyNodeText(shown, {
    ...(shownKey ? { key: shownKey } : {}),
    node,
    events: cleanDocument(events),
    namespace: surroundings.flags.namespace,
    terminal: surroundings.terminal,
  });
  surroundings.print(text);
  if (!document.replica.leading) return EXIT.unknown;
  return isWell ? EXIT.ok : EXIT.notSo;
}

/** The rule that gives a label which is neither on the node nor claimed; `undefined` if there is none. */
function ruleFor(surroundings: Surroundings, node: string, label: string): Promise<RuleOnNodeDocument | undefined> {
  const query = new URLSearchParams({ label, node });
  return surroundings.withConsole((console) => console.find<RuleOnNodeDocument>(`/v1/rules?${query}`));
}

/** Who owns what is worth saying, and no reason to fail. */
async function readNode(surroundings: Surroundings, name: string): Promise<NodeObject | undefined> {
  try {
    return cleanDocument(await surroundings.kube().get<NodeObject>(`/api/v1/nodes/${encodeURIComponent(name)}`));
  } catch (error) {
    const reason = error instanceof KubeApiError ? error.message : 'the API server cannot be reached';
    surroundings.note(`The owners of the keys are unknown: ${cleanDocument(reason)}\n`);
    return undefined;
  }
}

/** What happened before the record of this leader begins: it helps, and is no reason to fail. */
async function readPast(surroundings: Surroundings, { name, changesSince }: NodeDocument): Promise<PastEvent[]> {
  if (changesSince === undefined) return [];
  try {
    return await pastEvents(surroundings.kube(), name, changesSince);
  } catch {
    return [];
  }
}

async function whyService(surroundings: Surroundings, name: string): Promise<number> {
  const { replica, services } = await surroundings.withConsole((console) =>
    console.get<ServicesDocument>('/v1/services'),
  );
  const service = services.find((each) => each.name === name);
  if (!service) {
    const near = nearest(
      name,
      services.map((each) => each.name),
    );
    const cure = near === undefined ? 'list them: kubectl get nodeservices' : `did you mean ${near}?`;
    throw new CommandFailure(`rollcall does not know the NodeService ${name}`, cure, { exitCode: EXIT.notSo });
  }
  if (printedFor(surroundings, { replica, ...service })) return replica.leading ? EXIT.ok : EXIT.unknown;
  mustLead(surroundings, replica);
  const { isWell, text } = whyServiceText(cleanDocument(service), surroundings.terminal);
  surroundings.print(text);
  return isWell ? EXIT.ok : EXIT.notSo;
}

async function whyPod(surroundings: Surroundings, namespace: string, name: string): Promise<number> {
  const path = `/v1/schedule?pod=${encodeURIComponent(`${namespace}/${name}`)}`;
  const document = await surroundings.withConsole((console) => console.find<ScheduleDocument>(path));
  if (!document)
    throw new CommandFailure(
      `There is no pod ${namespace}/${name}`,
      `list the pods: kubectl -n ${namespace} get pods`,
      {
        exitCode: EXIT.notSo,
      },
    );
  if (printedFor(surroundings, document)) return document.replica.leading ? EXIT.ok : EXIT.unknown;
  mustLead(surroundings, document.replica);
  const { isWell, text } = whyPodText(cleanDocument(document), surroundings.terminal, surroundings.isWide);
  surroundings.print(text);
  return isWell ? EXIT.ok : EXIT.notSo;
}
