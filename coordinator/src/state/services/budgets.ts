import { SERVICE_LIST_BYTES_MAX } from '@rollcall/common/well-known.ts';
import { type Budget, Budgets, Load } from '../../model/budgets.ts';
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
/** The generation that is noted with the uid of a service that was ready once, as long as it can be for now. */
const GENERATION = ':1000000';
/** A budget with its sentences: what is exceeded, an amount, and the cure. */
type Worded = Omit<Budget<Service, Refusal>, 'refusal'> & {
  reason: string;
  problem: string;
  format: (amount: number) => string;
  cure: string;
};

const APART = 'let it select other nodes than older services by another value of a label that they ask for';

function budgetsOf(probesPerSecond: number): Budget<Service, Refusal>[] {
  const worded: Worded[] = [
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
      needOf: (service) => probeChecksOf(service).reduce((sum, { settings }) => sum + probesPerSecondOf(settings), 0),
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
  return worded.map(({ reason, problem, max, needOf, format, cure }) => ({
    max,
    needOf,
    refusal: (need, left) => {
      const amounts = `it adds ${format(need)}, and older services leave ${format(left)} of ${format(max)}`;
      return { reason, message: `${problem} (${amounts}): ${cure}` };
    },
  }));
}

/** Agents wait a second between two probes of a check without a period, and longer while it is ready. */
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
    ...(origin.kind === 'object' ? [[name, `${uid}${GENERATION}`]] : []),
  ];
  return entries.reduce((sum, [key = '', value = '']) => sum + key.length + value.length + '"":"",'.length, 0);
}

/** Counts what a node and its agent can have of services. */
export class NodeBudgets {
  readonly #budgets: Budgets<Service, Refusal>;
  readonly #list = new Load();
  /** CA bundles are in the list once, whichever nodes their services are for. */
  readonly #bundles = new Map<string, number>();
  #bundleBytes = 0;

  constructor(probesPerSecond: number) {
    this.#budgets = new Budgets(budgetsOf(probesPerSecond));
  }

  take(service: Service): void {
    this.#budgets.take(service);
    this.#list.add(service.nodeSelector, bytesOfProbes(service));
    for (const [key, bytes] of this.#newBundles(service)) {
      this.#bundles.set(key, bytes);
      this.#bundleBytes += bytes;
    }
  }

  /** Why a service does not fit beside those that were taken, or `undefined`. */
  refusal(service: Service): Refusal | undefined {
    return this.#budgets.refusal(service) ?? this.#tooLarge(service);
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
    const bundles = probeChecksOf(service).flatMap(({ settings }) => wireProbe(settings).caBundle ?? []);
    const isNew = ({ key }: { key: string }) => !this.#bundles.has(key);
    return new Map(bundles.filter(isNew).map(({ key, bytes }) => [key, bytes + BUNDLE_KEY_BYTES]));
  }
}

/** What the probes of a service add to the list for agents, CA bundles apart. */
function bytesOfProbes(service: Service): number {
  return probeChecksOf(service).reduce(
    (sum, { id, settings }) => sum + id.length + wireProbe(settings).bytes + ADDRESSES_BYTES,
    0,
  );
}
