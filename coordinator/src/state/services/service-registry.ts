import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '@rollcall/common/clock.ts';
import { gathered } from '@rollcall/common/gathered.ts';
import { guarded } from '@rollcall/common/guarded.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { atOnce, Slices } from '@rollcall/common/slices.ts';
import type { KeyRegistry } from '../../model/keys/key-registry.ts';
import type { Service } from '../../model/services.ts';
import { Collection } from '../collection.ts';
import {
  type Acceptance,
  type AcceptanceOptions,
  acceptanceOf,
  type KeyClaims,
  NO_CLAIMS,
  type Refusals,
} from './acceptance.ts';
import type { Refusal } from './budgets.ts';
import type { ObservedNodeService } from './node-service.ts';

export type ServiceRegistryOptions = Omit<AcceptanceOptions, 'keys' | 'claims'> & {
  /** Gets the keys of the services that are in force. */
  keys: KeyRegistry;
  /** Who decides about keys, the NodeServices apart. */
  otherKeys: Pick<KeyRegistry, 'refusal'>;
  clock: Clock;
  logger: Logger;
};

/**
 * Other services are in force, or the first list of them has come; with the uids of NodeServices that were in
 * force and were changed, or no longer are.
 */
export type ServiceRegistryListener = (uids: readonly string[]) => void;

/** Changes within so long are taken in together: each of them concerns every node. */
const GATHER_MS = 50;
/** Objects that are judged without a pause. */
const AT_ONCE_MAX = 256;
/** How much longer than a judgement is the pause before the next one that is due already. */
const PAUSE_TIMES = 4;

/** Every service that is in force: those that need not be written, and the NodeServices that are accepted. */
export class ServiceRegistry {
  #options: ServiceRegistryOptions;
  readonly all = new Collection<ObservedNodeService>({ at: ({ name }) => name, lostIsUnknown: true });
  #refusals: Refusals = new Map();
  #services: readonly Service[];
  #builtIn: Acceptance['builtIn'];
  #inForce = new Map<string, ObservedNodeService>();
  /** How often the NodeServices became known, and how often had when the last judgement began. */
  #listed = 0;
  #judged = 0;
  #isJudging = false;
  /** Inputs changed since the judgement that is under way began. */
  #due: { always: boolean } | undefined;
  #uids: ReadonlySet<string> = new Set();
  #claims = NO_CLAIMS;
  #onChange: ServiceRegistryListener = () => {};

  constructor(options: ServiceRegistryOptions) {
    this.#options = options;
    this.#services = options.builtIn;
    this.#builtIn = { services: options.builtIn, refusals: new Map() };
    const soon = gathered(options.clock, GATHER_MS, () => guarded(options.logger, 'NodeServices', () => this.judge()));
    this.all.onChange({
      changed: soon,
      listed: (_changes, isNews) => {
        if (isNews) this.#listed += 1;
        this.judge(!this.known);
      },
    });
  }

  /** The built-in services, which have the same keys as before, are probed otherwise from now on. */
  setBuiltIn(builtIn: readonly Service[]): void {
    this.#options = { ...this.#options, builtIn };
    this.judge(true);
  }

  /** Sets what others than NodeServices want, and have on Nodes. Until it is called, they want nothing. */
  setClaims(claims: KeyClaims): void {
    this.#claims = claims;
  }

  /** From now on this listener hears of every change. */
  onChange(listener: ServiceRegistryListener): void {
    this.#onChange = listener;
  }

  /** Whether the NodeServices were listed and judged, and are watched since. Until then their keys are unknown. */
  get known(): boolean {
    return this.all.isKnown() && this.#judged === this.#listed;
  }

  /** Uids of all NodeServices that exist, in force or not. */
  get uids(): ReadonlySet<string> {
    return this.#uids;
  }

  services(): readonly Service[] {
    return this.#services;
  }

  objects(): readonly ObservedNodeService[] {
    return [...this.all.all()];
  }

  object(name: string): ObservedNodeService | undefined {
    return this.all.get({ name });
  }

  /** Whether it is known if the object is accepted: one that has just been changed is not evaluated yet. */
  isJudged(object: ObservedNodeService): boolean {
    return this.#refusals.has(object);
  }

  refusalOf(object: ObservedNodeService): Refusal | undefined {
    return this.#refusals.get(object);
  }

  /** Why a built-in service does not publish all of its keys. */
  refusalOfBuiltIn(name: string): Refusal | undefined {
    return this.#builtIn.refusals.get(name);
  }

  /** Whether the status of the NodeService is about its present generation. A built-in service has none. */
  isReported({ name, origin }: Service): boolean {
    const status = this.all.get({ name })?.status as { observedGeneration?: unknown } | undefined;
    return origin.kind === 'built-in' || status?.observedGeneration === origin.generation;
  }

  /**
   * Evaluates acceptance again after its inputs may have changed. Notifies the listener on a difference, or `always`: at
   * once, or soon where there are thousands of objects.
   */
  judge(always = false): void {
    if (this.#isJudging) {
      this.#due = { always: always || this.#due?.always === true };
      return;
    }
    this.#isJudging = true;
    const { logger, clock } = this.#options;
    const beganMs = clock.monotonic();
    const ended = () => {
      this.#isJudging = false;
      const due = this.#due;
      this.#due = undefined;
      // Thousands of objects that keep changing cost a part of the loop.
      if (due) clock.after(PAUSE_TIMES * (clock.monotonic() - beganMs), () => this.judge(due.always));
    };
    const steps = this.#judgeInSteps(always);
    if (this.all.size <= AT_ONCE_MAX) {
      guarded(logger, 'NodeServices', () => atOnce(steps));
      ended();
    } else {
      const failed = (err: unknown) =>
        guarded(logger, 'NodeServices', () => {
          throw err;
        });
      void new Slices().run(steps).catch(failed).finally(ended);
    }
  }

  #acceptanceOf(objects: readonly ObservedNodeService[]): Generator<undefined, Acceptance> {
    const { otherKeys: keys } = this.#options;
    const claims = this.#claims;
    // A rule that gives a label to no Node yet is a newcomer: it is refused instead.
    const isGiven = (label: string) => claims.isOnNodes('label', label, 'rule:service');
    const impliedBy: AcceptanceOptions['impliedBy'] = (labels) =>
      new Set([...this.#options.impliedBy(labels)].filter(isGiven));
    return acceptanceOf(objects, { ...this.#options, keys, claims, impliedBy });
  }

  *#judgeInSteps(always: boolean): Generator<undefined, void> {
    const { logger } = this.#options;
    const [objects, listed] = [this.objects(), this.#listed];
    const { refusals, builtIn } = yield* this.#acceptanceOf(objects);
    this.#refusals = refusals;
    this.#judged = listed;
    const uids = new Set(objects.map(({ uid }) => uid));
    // Nodes may record of a refused object as well that it was ready once.
    const isSomeGone = !this.#uids.isSubsetOf(uids);
    this.#uids = uids;
    const accepted = objects.filter((object) => !refusals.get(object));
    const isBuiltInAsBefore = isDeepStrictEqual(this.#builtIn, builtIn);
    this.#builtIn = builtIn;
    const before = this.#inForce;
    const changed = accepted.filter((object) => before.get(object.name) !== object);
    const inForce = new Map(accepted.map((object) => [object.name, object]));
    const gone = [...before.keys()].filter((name) => !inForce.has(name));
    if (changed.length + gone.length === 0 && isBuiltInAsBefore && !isSomeGone && !always) return;
    this.#inForce = inForce;
    this.#services = [...builtIn.services, ...accepted.map(({ service }) => service)];
    for (const service of builtIn.services) this.#options.keys.setService(service);
    for (const [service, { message }] of isBuiltInAsBefore ? [] : builtIn.refusals)
      logger.warn({ service, message }, 'Left a key of a built-in service to its owner');
    for (const name of gone) this.#options.keys.removeService(name);
    for (const { service } of changed) this.#options.keys.setService(service);
    if (changed.length + gone.length > 0) {
      const names = changed.map(({ name }) => name);
      logger.info(
        { services: this.#services.length, changed: names.slice(0, 10), gone: gone.slice(0, 10) },
        'Took over the NodeServices',
      );
    }
    this.#onChange([...before.values()].filter((object) => inForce.get(object.name) !== object).map(({ uid }) => uid));
  }

  /** What would be in force with these objects beside the others, or in their place. Nothing comes of it. Yields. */
  *propose(
    objects: readonly ObservedNodeService[],
  ): Generator<undefined, { services: readonly Service[]; refusals: ReadonlyMap<string, Refusal> }> {
    const proposed = new Map(this.objects().map((object) => [object.name, object]));
    for (const object of objects) {
      const before = proposed.get(object.name);
      proposed.set(object.name, before ? inPlaceOf(before, object) : object);
    }
    const found = yield* this.#acceptanceOf([...proposed.values()]);
    const accepted = [...proposed.values()].filter((object) => !found.refusals.get(object));
    const refusals = new Map(
      objects.flatMap(({ name }) => {
        const object = proposed.get(name);
        const refusal = object && found.refusals.get(object);
        return refusal ? [[name, refusal] as const] : [];
      }),
    );
    return { services: [...found.builtIn.services, ...accepted.map(({ service }) => service)], refusals };
  }
}

/** Returns a changed object with the age of the one before, by which it has its keys, and its uid. */
function inPlaceOf(before: ObservedNodeService, next: ObservedNodeService): ObservedNodeService {
  const { uid, createdAtMs, service } = before;
  const origin = { ...service.origin, generation: next.generation };
  return { ...next, uid, createdAtMs, service: { ...next.service, origin } };
}
