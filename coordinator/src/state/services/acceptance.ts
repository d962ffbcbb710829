import { ACCELERATORS } from '@rollcall/common/accelerators.ts';
import { AGENTLESS_KINDS } from '@rollcall/common/checks/check-kinds.ts';
import { anyOf, checks as CHECKS } from '@rollcall/common/checks/checks.ts';
import { isLabelKey } from '@rollcall/common/label-syntax.ts';
import { LIFECYCLE_CONDITIONS } from '@rollcall/common/node-lifecycle.ts';
import {
  KNOWN_TAINT_PREFIXES,
  KUBELET_CONDITIONS,
  PROBE_PERIOD_MS_MIN,
  PROBE_TIME_MS_MAX,
  REPAIR_CONDITIONS,
  SERVICE_LABEL_PREFIX,
} from '@rollcall/common/well-known.ts';
import { isDeviceId } from '../../model/inventory/tally.ts';
import { KEY_KINDS } from '../../model/keys/key-kinds.ts';
import { type Claimant, ownerOf } from '../../model/keys/key-owner.ts';
import type { KeyRegistry } from '../../model/keys/key-registry.ts';
import { keysOfSelector } from '../../model/label-selector.ts';
import {
  conditionChecksOf,
  dependsOnStart,
  type PublishedKey as Key,
  kindOf,
  podsChecksOf,
  probeChecksOf,
  publishedKeys,
  publishes,
  type Service,
  type ServiceCheck,
  type ServiceProbe,
  singleChecksOf,
  withoutDryRun,
} from '../../model/services.ts';
import { NodeBudgets, type Refusal } from './budgets.ts';
import type { ObservedNodeService } from './node-service.ts';

type Given = Pick<Service, 'name' | 'nodeSelector' | 'publish'>;

/** Returns the labels that rules derive from these. */
type ImpliedBy = (labels: readonly string[]) => ReadonlySet<string>;

const NO_LABELS: ReadonlySet<string> = new Set();

/**
 * Finds services whose nodes would be selected by what services say of nodes: such a service could keep itself ready.
 * A service is compared with those that were added before, and never the other way round.
 */
class Circles {
  readonly #impliedBy: ImpliedBy;
  /** Names of services by the labels that they publish. */
  readonly #owners = new Map<string, string>();
  /** Labels that rules derive from published labels. */
  readonly #implied = new Set<string>();
  /** Names of services by the labels that select their nodes. */
  readonly #selectors = new Map<string, string>();

  constructor(impliedBy: ImpliedBy) {
    this.#impliedBy = impliedBy;
  }

  add({ name, nodeSelector, publish: { label } }: Given): void {
    for (const key of keysOfSelector(nodeSelector)) if (!this.#selectors.has(key)) this.#selectors.set(key, name);
    if (label === undefined) return;
    this.#owners.set(label, name);
    for (const key of this.#impliedBy([label])) this.#implied.add(key);
  }

  /** Returns why a service would close a circle, or `undefined`. */
  refusal({ name, nodeSelector, publish: { label } }: Given): Refusal | undefined {
    const implied = label === undefined ? NO_LABELS : this.#impliedBy([label]);
    for (const key of keysOfSelector(nodeSelector)) {
      const owner = key === label ? name : this.#owners.get(key);
      if (owner !== undefined) return selectsBy(key, `is the label of ${owner}`);
      if (implied.has(key) || this.#implied.has(key))
        return selectsBy(key, 'a rule derives from the label of a service');
    }
    if (label === undefined) return undefined;
    for (const key of [label, ...implied]) {
      const older = this.#selectors.get(key);
      if (older === undefined) continue;
      const derived = key === label ? '' : `, which a rule derives from ${label}`;
      const message = `The nodeSelector of ${older}, which is older, names ${key}${derived}: choose another label`;
      return { reason: 'LabelSelectsNodes', message };
    }
    return undefined;
  }
}

/** Names of the services in force by the types of conditions that they publish, and that they check. */
type ConditionUse = { published: Map<string, string>; checked: Map<string, string> };

function use({ published, checked }: ConditionUse, service: Service): void {
  const { condition } = service.publish;
  if (condition !== undefined) published.set(condition, service.name);
  for (const {
    settings: { type },
  } of conditionChecksOf(service))
    if (!checked.has(type)) checked.set(type, service.name);
}

/** A condition that rollcall publishes says what it knows already: a service that went by it could keep itself ready. */
function conditionCircle(service: Service, { published, checked }: ConditionUse): Refusal | undefined {
  const { condition } = service.publish;
  for (const {
    name,
    settings: { type },
  } of conditionChecksOf(service)) {
    const owner = type === condition ? service.name : published.get(type);
    if (owner === undefined) continue;
    const message = `The check ${name} asks for the condition ${type}, which the NodeService ${owner} publishes: use a condition that another component writes`;
    return { reason: 'ChecksOwnCondition', message };
  }
  const older = condition === undefined ? undefined : checked.get(condition);
  if (older === undefined) return undefined;
  const message = `The NodeService ${older}, which is older, checks the condition ${condition}: publish another type`;
  return { reason: 'ConditionChecked', message };
}

/** Conditions that kubelets write come with every heartbeat, and are not kept. */
function kubeletCondition(service: Service): Refusal | undefined {
  const found = conditionChecksOf(service).find(({ settings: { type } }) => KUBELET_CONDITIONS.includes(type));
  if (!found) return undefined;
  const message = `The check ${found.name} asks for ${found.settings.type}, which the kubelet writes and Kubernetes itself acts on: use another condition`;
  return { reason: 'KubeletCondition', message };
}

function selectsBy(key: string, what: string): Refusal {
  return { reason: 'SelectsByService', message: `nodeSelector names ${key}, which ${what}` };
}

/** Who besides NodeServices wants keys of Nodes, and who has them there. */
export type KeyClaims = {
  /** Those that want a key, other than services. */
  claimantsOf: (key: Key) => readonly Claimant[];
  /** Whether some Node lists the key with this origin. */
  isOnNodes: (kind: Key['kind'], key: string, origin: string) => boolean;
};

/** NodeServices alone want keys, and nothing is on Nodes. */
export const NO_CLAIMS: KeyClaims = { claimantsOf: () => [], isOnNodes: () => false };

export type AcceptanceOptions = {
  /** Those that are known without being written: they have their names and keys before all others. */
  builtIn: readonly Service[];
  /** Who decides about keys, the NodeServices apart. */
  keys: Pick<KeyRegistry, 'refusal'>;
  /** What keys have to begin with; anything where there is none. */
  allowedPrefixes: readonly string[];
  /** Whether taints may evict pods. */
  allowNoExecute: boolean;
  /** Whether any may publish a condition. */
  conditions: boolean;
  /** Conditions that they may publish although Karpenter replaces nodes for them. */
  allowedConditions: readonly string[];
  /** Whether nodes have agents. */
  agents: boolean;
  /** Probes that the agent of one node may make in a second. */
  agentProbesPerSecond: number;
  /** Labels that rules imply where these are there. */
  impliedBy: ImpliedBy;
  /** Who else wants the keys, and who has them on Nodes. */
  claims: KeyClaims;
};

/** The maximum length of the part of a label's key after the slash. */
const LABEL_NAME_MAX = 63;

export type Refusals = ReadonlyMap<ObservedNodeService, Refusal | undefined>;

export type Acceptance = {
  /** Why each NodeService is not in force, or `undefined`. */
  refusals: Refusals;
  /** The built-in services without the keys that others have on Nodes; why, by the name of the service. */
  builtIn: { services: readonly Service[]; refusals: ReadonlyMap<string, Refusal> };
};

/**
 * Judges NodeServices. Each is evaluated by those that were accepted before it, from the oldest to the youngest, so that
 * none decides about an older one. Yields between them. Flags that ask for a key later take it from no one.
 */
export function* acceptanceOf(
  objects: readonly ObservedNodeService[],
  options: AcceptanceOptions,
): Generator<undefined, Acceptance> {
  const { claims } = options;
  const services = [...options.builtIn, ...objects.map(({ service }) => service)];
  const wanting = Map.groupBy(
    services.flatMap((service) => publishedKeys(service).map((key) => ({ id: idOf(key), service }))),
    ({ id }) => id,
  );
  const refusals = new Map<ObservedNodeService, Refusal | undefined>();
  /** Those that are refused for something else want nothing. */
  const refused = new Set<Service>();
  const keyTaken = (key: Key, service: Service): Refusal | undefined => {
    const rivals = (wanting.get(idOf(key)) ?? []).map((each) => each.service).filter((each) => !refused.has(each));
    return whyNotOwner(key, service, rivals, claims);
  };
  const isOfBuiltIn = (key: Key) => options.builtIn.some((each) => publishes(each, key));
  const names = new Set(options.builtIn.map(({ name }) => name));
  const budgets = new NodeBudgets(options.agentProbesPerSecond);
  const circles = new Circles(options.impliedBy);
  const conditions: ConditionUse = { published: new Map(), checked: new Map() };
  for (const service of options.builtIn) {
    budgets.take(service);
    circles.add(service);
  }
  for (const object of objects.toSorted(byAge)) {
    yield;
    const { service } = object;
    // A dry run is judged as it would be without, but that it takes nothing from others, and others nothing from it.
    const wanted = withoutDryRun(service);
    const refusal =
      unknownField(object) ??
      invalidChecks(service.checks) ??
      withoutAgents(service, options) ??
      unknownDevice(service) ??
      unclearPods(service) ??
      kubeletCondition(service) ??
      (names.has(service.name) ? nameTaken(service) : undefined) ??
      nameTooLong(wanted) ??
      noExecute(wanted, options) ??
      withoutConditions(wanted, options) ??
      firstOf(publishedKeys(service).filter(isOfBuiltIn), (key) => keyTaken(key, service)) ??
      firstOf(publishedKeys(wanted), (key) => refusalOfKey(key, options)) ??
      firstOf(publishedKeys(service), (key) => keyTaken(key, service)) ??
      circles.refusal(wanted) ??
      conditionCircle(wanted, conditions) ??
      budgets.refusal(service);
    refusals.set(object, refusal);
    if (refusal) {
      refused.add(service);
      continue;
    }
    budgets.take(service);
    circles.add(service);
    use(conditions, service);
  }
  return { refusals, builtIn: withoutTaken(options.builtIn, keyTaken) };
}

/** Why a service does not have a key, given all other services that want it. */
function whyNotOwner(key: Key, service: Service, rivals: readonly Service[], claims: KeyClaims): Refusal | undefined {
  const own = claimantOf(service, key, claims);
  const others = rivals.filter((each) => each !== service).map((each) => claimantOf(each, key, claims));
  const owner = ownerOf([own, ...others, ...claims.claimantsOf(key)]);
  if (owner === undefined || owner === own) return undefined;
  if (owner.createdAtMs === BUILT_IN_MS) return keyRefused(key, `belongs to ${owner.name}`);
  const why = owner.isOnNodes && !own.isOnNodes ? 'which has it on Nodes' : 'which is older';
  return { reason: 'KeyTaken', message: `The ${key.kind} ${key.key} already belongs to ${owner.name}, ${why}` };
}

/** Older than every object. */
const BUILT_IN_MS = Number.NEGATIVE_INFINITY;

function claimantOf({ name, origin }: Service, { kind, key }: Key, claims: KeyClaims): Claimant {
  const [who, createdAtMs, listed] =
    origin.kind === 'object'
      ? [`the NodeService ${name}`, origin.createdAtMs, `service:${origin.uid}`]
      : [`the service ${name} of Gitpod`, BUILT_IN_MS, 'gitpod'];
  return { name: who, createdAtMs, isOnNodes: claims.isOnNodes(kind, key, listed) };
}

function withoutTaken(
  builtIn: readonly Service[],
  keyTaken: (key: Key, service: Service) => Refusal | undefined,
): Acceptance['builtIn'] {
  const refusals = new Map<string, Refusal>();
  const services = builtIn.map((service) => {
    const publish = { ...service.publish };
    for (const key of publishedKeys(service)) {
      const refusal = keyTaken(key, service);
      if (!refusal) continue;
      refusals.set(service.name, refusal);
      delete publish[key.kind];
    }
    return refusals.has(service.name) ? { ...service, publish } : service;
  });
  return { services, refusals };
}

function byAge(a: ObservedNodeService, b: ObservedNodeService): number {
  return a.createdAtMs - b.createdAtMs || (a.name < b.name ? -1 : 1);
}

function unknownField({ unknownField: field }: ObservedNodeService): Refusal | undefined {
  if (field === undefined) return undefined;
  return { reason: 'UnknownField', message: `${field} is not known to this version of rollcall` };
}

/** The API server refuses these by the schema of the CRD; `diff` has objects that it has not seen. */
function invalidChecks(checks: readonly ServiceCheck[], most = CHECKS.maxItems): Refusal | undefined {
  const refusal = (message: string): Refusal => ({ reason: 'InvalidChecks', message });
  if (checks.length === 0) return refusal('A list of checks is empty: give it a check');
  if (checks.length > most)
    return refusal(`A list has ${checks.length} checks, and may have ${most}: use several NodeServices`);
  const names = checks.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return refusal(`Several checks have the name ${twice}: give each a name of its own`);
  return firstOf(checks, (check) => {
    if (check.kind === 'anyOf') return invalidChecks(check.checks, anyOf.maxItems);
    if (check.kind !== 'probe') return undefined;
    const { periodMilliseconds = PROBE_PERIOD_MS_MIN, timeoutMilliseconds = 0 } = check.settings;
    if (periodMilliseconds < PROBE_PERIOD_MS_MIN)
      return refusal(
        `The period of the check ${check.name} is ${periodMilliseconds} ms: use at least ${PROBE_PERIOD_MS_MIN}ms`,
      );
    const longest = periodMilliseconds > PROBE_TIME_MS_MAX ? 'period' : 'timeout';
    if (Math.max(periodMilliseconds, timeoutMilliseconds) <= PROBE_TIME_MS_MAX) return undefined;
    return refusal(`The ${longest} of the check ${check.name} is longer than 1h: use at most 1h`);
  });
}

function withoutAgents(service: Service, { agents }: AcceptanceOptions): Refusal | undefined {
  const check = agents ? undefined : singleChecksOf(service).find((each) => kindOf(each)?.voucher === 'agent');
  if (!check) return undefined;
  const seen = AGENTLESS_KINDS.join(', ');
  const cure = `set --agents (agent.enabled in the chart), or use checks that the coordinator makes: ${seen}`;
  return {
    reason: 'NoAgents',
    message: `The check ${check.name} needs an agent on each node, and there are none: ${cure}`,
  };
}

function unknownDevice(service: Service): Refusal | undefined {
  for (const check of singleChecksOf(service)) {
    if (check.kind !== 'device') continue;
    const { name } = check.settings;
    if (isDeviceId(name) || ACCELERATORS.some((accelerator) => accelerator.name === name)) continue;
    const message = `The check ${check.name} asks for ${name}, which is not a device that rollcall knows: use the NAME of a label device.rollcall.dev/NAME, gpu, or an id such as pci:15b3:101e`;
    return { reason: 'UnknownDevice', message };
  }
  return undefined;
}

/** Beside several checks of pods, a probe at the address of a pod names the one that it is for. */
function unclearPods(service: Service): Refusal | undefined {
  const refusal = (message: string): Refusal => ({ reason: 'UnclearPods', message });
  const names = podsChecksOf(service).map(({ name }) => name);
  return firstOf(probeChecksOf(service), ({ name, settings: probe }) => {
    const { of } = probe;
    if (of !== undefined && names.filter((each) => each === of).length !== 1)
      return refusal(`The check ${name} is of ${of}, which is not the name of one check of pods: name one in "of"`);
    if (of !== undefined || names.length < 2 || !asksPods(probe)) return undefined;
    return refusal(
      `The check ${name} does not say which pods it asks, and there are ${names.length} checks of pods: set "of" to ${names.join(' or ')}`,
    );
  });
}

function asksPods(probe: ServiceProbe): boolean {
  const { port, host } = probe;
  return dependsOnStart(probe) || (port !== undefined && host !== 'Loopback' && host !== 'Node');
}

function nameTaken({ name }: Service): Refusal {
  return { reason: 'NameTaken', message: `${name} is the name of a service of Gitpod: choose another name` };
}

/** The name makes the label, unless that is told. */
function nameTooLong({ name, publish }: Service): Refusal | undefined {
  if (name.length <= LABEL_NAME_MAX || publish.label !== `${SERVICE_LABEL_PREFIX}${name}`) return undefined;
  const message = `${name} is too long to be part of the label ${SERVICE_LABEL_PREFIX}NAME: name it with at most ${LABEL_NAME_MAX} characters, or set publish`;
  return { reason: 'NameTooLong', message };
}

function noExecute({ publish: { taint } }: Service, { allowNoExecute }: AcceptanceOptions): Refusal | undefined {
  if (allowNoExecute || taint?.effect !== 'NoExecute') return undefined;
  const cure = 'set --allow-no-execute (coordinator.config.allowNoExecute in the chart), or use NoSchedule';
  return { reason: 'NoExecuteNotAllowed', message: `The taint ${taint.key} would evict pods: ${cure}` };
}

function withoutConditions({ publish }: Service, { conditions }: AcceptanceOptions): Refusal | undefined {
  if (publish.condition === undefined || conditions) return undefined;
  const cure =
    'set --services-conditions (coordinator.config.servicesConditions in the chart), or remove publish.condition';
  return { reason: 'ConditionsOff', message: `Publishing conditions is disabled: ${cure}` };
}

function refusalOfKey({ kind, key }: Key, options: AcceptanceOptions): Refusal | undefined {
  const problem = kind === 'condition' ? problemOfCondition(key, options) : problemOfKey(kind, key, options);
  if (problem !== undefined) return keyRefused({ kind, key }, problem);
  const { allowedPrefixes } = options;
  // Conditions may not use the prefixes that are known for taints.
  const isFor = (prefix: string) => kind !== 'condition' || !KNOWN_TAINT_PREFIXES.includes(prefix);
  const isAllowed = allowedPrefixes.some((prefix) => isFor(prefix) && key.startsWith(prefix));
  if (allowedPrefixes.length === 0 || isAllowed) return undefined;
  const prefix = key.includes('/') ? key.slice(0, key.indexOf('/') + 1) : key;
  const cure = isFor(prefix)
    ? `add ${prefix} to --services-allowed-prefixes (services.allowedPrefixes in the chart)`
    : `${prefix} is for taints only, choose another`;
  return { reason: 'PrefixNotAllowed', message: `The ${kind} ${key} does not begin with an allowed prefix: ${cure}` };
}

function keyRefused({ kind, key }: Key, problem: string): Refusal {
  return { reason: 'KeyRefused', message: `The ${kind} ${key} ${problem}: choose another` };
}

function problemOfKey(kind: 'label' | 'taint', key: string, { keys, builtIn }: AcceptanceOptions): string | undefined {
  const domain = KEY_KINDS[kind].domainOf(key);
  if (domain !== undefined) return `is in the domain ${domain}`;
  // Who has a key of a built-in service is decided among all that want it.
  return builtIn.some((each) => publishes(each, { kind, key })) ? undefined : keys.refusal('service', kind, key);
}

function problemOfCondition(type: string, { allowedConditions }: AcceptanceOptions): string | undefined {
  if (!isLabelKey(type)) return 'has a type that is not a qualified name';
  if (KUBELET_CONDITIONS.includes(type)) return 'is reserved for kubelets and network plugins';
  if (LIFECYCLE_CONDITIONS.includes(type)) return 'is reserved for those who drain and maintain nodes';
  if (!REPAIR_CONDITIONS.includes(type) || allowedConditions.includes(type)) return undefined;
  return 'makes Karpenter replace nodes, and is not listed in --allow-condition';
}

function idOf({ kind, key }: Key): string {
  return `${kind}:${key}`;
}

function firstOf<T, R>(values: readonly T[], find: (value: T) => R | undefined): R | undefined {
  for (const value of values) {
    const found = find(value);
    if (found !== undefined) return found;
  }
  return undefined;
}
