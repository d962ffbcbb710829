import { SERVICE_LIST_BYTES_MAX } from '@rollcall/common/well-known.ts';
import type { LabelSelector } from '../../model/label-selector.ts';
import { probeChecksOf, type Service, type ServiceProbe, singleChecksOf } from '../../model/services.ts';
import { wireProbe } from '../../model/wire-probe.ts';

/** Why a NodeService is not in force: one word for machines, and a sentence for people. */
export type Refusal = { reason: string; message: string };

/** Services that a node can have. */
export const SERVICES_MAX = 200;
/** Checks of the services that a node can have, those within `anyOf` included. */
export const CHECKS_MAX = 1000;
/** Bytes that the services of a node add to its annotations; the fence admits 192 KiB for all that rollcall lists there. */
export const SERVICE_KEYS_BYTES_MAX = 44 * 1024;

/** The most that the name's field, target and addresses of pods add to a service: 16 addresses of 45 characters. */
const ADDRESSES_BYTES = 1024;
/** The key of a CA bundle, and what separates it from the next. */
const BUNDLE_KEY_BYTES = 70;
/** Sums of fractions are not exact. */
const TOLERANCE = 1e-6;

/** One thing that the services of a node share: how much of it each needs, and how much there is. */
type Budget = {
  reason: string;
  /** What is exceeded, as a sentence. */
  problem: string;
  max: number;
  needOf: (service: Service) => number;
  /** An amount for people. */
  format: (amount: number) => string;
  cure: string;
};

const APART = 'let it select other nodes than older services by another value of a label that they ask for';

function budgetsOf(probesPerSecond: number): Budget[] {
  return [
    {
      reason: 'TooManyServices',
      problem: 'A node could have too many services',
      max: SERVICES_MAX,
      needOf: () => 1,
      format: String,
      cure: `${APART}, or delete a service`,
    },
    {
      reason: 'TooManyChecks',
      problem: 'The services of a node could have too many checks',
      max: CHECKS_MAX,
      needOf: (service) => singleChecksOf(service).length,
      format: String,
      cure: `remove checks, or ${APART}`,
    },
    {
      reason: 'TooManyProbes',
      problem: 'An agent could make too many probes a second',
      max: probesPerSecond,
      needOf: (service) => probeChecksOf(service).reduce((sum, { probe }) => sum + probesPerSecondOf(probe), 0),
      format: (amount) => String(Number(amount.toFixed(1))),
      cure: `lengthen the period of its checks, ${APART}, or raise --agent-probes-per-second (coordinator.config.agentProbesPerSecond in the chart)`,
    },
    {
      reason: 'KeysTooLarge',
      problem: 'The keys of services would take too much of the annotations of a node',
      max: SERVICE_KEYS_BYTES_MAX,
      needOf: bytesOnNode,
      format: (amount) => `${Math.ceil(amount)} bytes`,
      cure: `publish fewer or shorter keys, or ${APART}`,
    },
  ];
}

/** Agents wait a second between two probes of a built-in service, and longer while it is ready. */
function probesPerSecondOf({ periodMilliseconds = 1000 }: ServiceProbe): number {
  return 1000 / periodMilliseconds;
}

/** What a service adds to the list of keys of a node, and to the list of services that were ready there once. */
function bytesOnNode({ name, publish, origin }: Service): number {
  const { label, taint, condition } = publish;
  const uid = origin.kind === 'object' ? origin.uid : '';
  const listed = origin.kind === 'object' ? `service:${uid}` : 'gitpod';
  const entries = [
    ...(label === undefined ? [] : [[`label:${label}`, listed]]),
    ...(taint ? [[`taint:${taint.key}`, listed]] : []),
    ...(condition === undefined ? [] : [[`condition:${condition}`, listed]]),
    ...(origin.kind === 'object' ? [[name, uid]] : []),
    ...(origin.kind === 'object' && taint ? [[uid, `${taint.key}=${taint.value}:${taint.effect}`]] : []),
  ];
  return entries.reduce((sum, [key = '', value = '']) => sum + key.length + value.length + '"":"",'.length, 0);
}

/** Sums of what services need, by the values of labels that select their nodes. */
class Load {
  #total = 0;
  readonly #byKey = new Map<string, { total: number; byValue: Map<string, number> }>();

  add(selector: LabelSelector | undefined, amount: number): void {
    this.#total += amount;
    for (const [key, values] of valuesOf(selector)) {
      const asked = this.#byKey.get(key) ?? { total: 0, byValue: new Map<string, number>() };
      this.#byKey.set(key, asked);
      asked.total += amount;
      for (const value of values) asked.byValue.set(value, (asked.byValue.get(value) ?? 0) + amount);
    }
  }

  /**
   * The most that services can need on a node that this selector selects. A node has one value of a label, so those that
   * ask for other values of it are elsewhere; the label that excludes most of them counts.
   */
  mostWith(selector: LabelSelector | undefined): number {
    const loads = [...valuesOf(selector)].map(([key, values]) => {
      const asked = this.#byKey.get(key);
      if (!asked) return this.#total;
      const alike = [...values].reduce((sum, value) => sum + (asked.byValue.get(value) ?? 0), 0);
      return this.#total - asked.total + Math.min(asked.total, alike);
    });
    return Math.min(this.#total, ...loads);
  }
}

const NO_VALUES: ReadonlyMap<string, ReadonlySet<string>> = new Map();
const known = new WeakMap<LabelSelector, ReadonlyMap<string, ReadonlySet<string>>>();

/** The values that a selector asks for, by label. */
function valuesOf(selector: LabelSelector | undefined): ReadonlyMap<string, ReadonlySet<string>> {
  if (!selector) return NO_VALUES;
  const before = known.get(selector);
  if (before) return before;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const asked = new Map(Object.entries(matchLabels).map(([key, value]) => [key, new Set([value])]));
  for (const { key, operator, values = [] } of matchExpressions)
    if (operator === 'In' && !asked.has(key)) asked.set(key, new Set(values));
  known.set(selector, asked);
  return asked;
}

/**
 * Counts what a node and its agent can have of services. Each service is counted with those that were taken before it, as
 * if on one node with all that its selector does not exclude: a node that comes later exceeds no budget.
 */
export class NodeBudgets {
  readonly #budgets: { budget: Budget; load: Load }[];
  readonly #list = new Load();
  /** CA bundles are in the list once, whichever nodes their services are for. */
  readonly #bundles = new Map<string, number>();
  #bundleBytes = 0;

  constructor(probesPerSecond: number) {
    this.#budgets = budgetsOf(probesPerSecond).map((budget) => ({ budget, load: new Load() }));
  }

  take(service: Service): void {
    for (const { budget, load } of this.#budgets) load.add(service.nodeSelector, budget.needOf(service));
    this.#list.add(service.nodeSelector, bytesOfProbes(service));
    for (const [key, bytes] of this.#newBundles(service)) {
      this.#bundles.set(key, bytes);
      this.#bundleBytes += bytes;
    }
  }

  /** Why a service does not fit beside those that were taken, or `undefined`. */
  refusal(service: Service): Refusal | undefined {
    for (const { budget, load } of this.#budgets) {
      const { reason, problem, max, needOf, format, cure } = budget;
      const need = needOf(service);
      const left = Math.max(0, max - load.mostWith(service.nodeSelector));
      if (need <= left + TOLERANCE) continue;
      const amounts = `it adds ${format(need)}, and older services leave ${format(left)} of ${format(max)}`;
      return { reason, message: `${problem} (${amounts}): ${cure}` };
    }
    return this.#tooLarge(service);
  }

  /** Agents refuse a reply that is too large, and with it every service in it. */
  #tooLarge(service: Service): Refusal | undefined {
    const bytes = [...this.#newBundles(service).values()].reduce((sum, each) => sum + each, bytesOfProbes(service));
    const left = SERVICE_LIST_BYTES_MAX - this.#bundleBytes - this.#list.mostWith(service.nodeSelector);
    if (bytes <= left) return undefined;
    const sizes = `its probes have ${Math.ceil(bytes / 1024)} KiB, and older services leave ${Math.floor(left / 1024)} KiB of ${SERVICE_LIST_BYTES_MAX / 1024} KiB`;
    const cure = 'shorten its caBundle and headers, use the same caBundle as other services, or delete a service';
    return {
      reason: 'ListTooLarge',
      message: `The list of services for the agents would be too large (${sizes}): ${cure}`,
    };
  }

  /** The bytes of the CA bundles that no service before has brought, by key. */
  #newBundles(service: Service): Map<string, number> {
    const bundles = probeChecksOf(service).flatMap(({ probe }) => wireProbe(probe).caBundle ?? []);
    const isNew = ({ key }: { key: string }) => !this.#bundles.has(key);
    return new Map(bundles.filter(isNew).map(({ key, bytes }) => [key, bytes + BUNDLE_KEY_BYTES]));
  }
}

/** What the probes of a service add to the list for agents, CA bundles apart. */
function bytesOfProbes(service: Service): number {
  return probeChecksOf(service).reduce(
    (sum, { id, probe }) => sum + id.length + wireProbe(probe).bytes + ADDRESSES_BYTES,
    0,
  );
}
