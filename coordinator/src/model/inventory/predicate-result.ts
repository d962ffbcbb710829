import { busesOfIdentity, identitiesIn } from '@rollcall/common/accelerators.ts';
import { type FeatureValue, featureName } from './feature-name.ts';
import { globMatches, isGlob } from './glob.ts';
import type { Inventory } from './inventory.ts';
import {
  type Among,
  compares,
  comparesNumber,
  isOrder,
  type MachinePredicate,
  type Order,
  questionOf,
} from './predicate.ts';
import { quantityOf } from './quantity.ts';
import { combined, type DeviceTally, driverOf, isDeviceId, MIXED, type Tallied, tallyById } from './tally.ts';

export type Truth = 'yes' | 'no' | 'unknown';

/** Whether it is so, with what was found, as a clause for people. */
export type PredicateResult = { truth: Truth; found: string };

const NO_AGENT = 'no agent has reported the hardware yet';

/** Whether what a predicate says is so. */
export function answer(predicate: MachinePredicate, inventory: Inventory): PredicateResult {
  switch (predicate.kind) {
    case 'resource':
      return resource(predicate, inventory);
    case 'count':
      return count(predicate, inventory);
    case 'driver':
      return driver(predicate, inventory);
    case 'dra':
      return dra(predicate, inventory);
    case 'fact':
      return fact(predicate, inventory);
    case 'nfd':
      return nfd(predicate, inventory);
    case 'declared':
      return declared(predicate, inventory);
    case 'module':
    case 'cpu': {
      const what =
        predicate.kind === 'module'
          ? `the kernel module ${predicate.name}`
          : `the flag ${predicate.name} of its processors`;
      const answer = own(inventory.answers, questionOf(predicate) ?? '');
      if (answer === undefined) return { truth: 'unknown', found: `the agent has not reported ${what}` };
      return { truth: truthOf(answer), found: `the node ${answer ? 'has' : 'does not have'} ${what}` };
    }
  }
}

/** Without what every object inherits: a resource may be called `constructor`. */
function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function truthOf(is: boolean): Truth {
  return is ? 'yes' : 'no';
}

export function isAmong({ values }: Among, value: string): boolean {
  return values.some((wanted) => wanted === value || (isGlob(wanted) && globMatches(wanted, value)));
}

function resource({ name, test }: { name: string; test: Order }, { allocatable }: Inventory): PredicateResult {
  if (!allocatable) return { truth: 'unknown', found: `how much of ${name} the node has is unknown` };
  const quantity = own(allocatable, name) ?? '0';
  const amount = quantityOf(quantity) ?? 0;
  return { truth: truthOf(comparesNumber(test, amount)), found: `the node has ${quantity} of ${name} allocatable` };
}

/** A kubelet that does not know a feature says the same as one that has it disabled: nothing. */
function declared({ name }: { name: string }, { declared: features }: Inventory): PredicateResult {
  const is = features?.get(name);
  if (is === undefined) return { truth: 'unknown', found: `whether the node declares ${name} is unknown` };
  return { truth: truthOf(is), found: `the node ${is ? 'declares' : 'does not declare'} the feature ${name}` };
}

function count({ name, test }: { name: string; test: Order }, inventory: Inventory): PredicateResult {
  const { devices, gone } = inventory;
  if (!devices) return { truth: 'unknown', found: NO_AGENT };
  const tallied = talliedOf(name, devices, inventory);
  const away = identitiesIn(name).flatMap((identity) => gone.get(identity) ?? []);
  const found = `the agent sees ${tallied.count} of ${name}${away.length > 0 ? `, and no longer ${away.join(', ')}` : ''}`;
  const doubt = doubtOf(name, inventory);
  return ofAtLeast(test, tallied.count, { found, doubt: doubt && `the agent ${doubt}` });
}

function talliedOf(name: string, devices: DeviceTally, { reported }: Inventory): Tallied {
  return isDeviceId(name) ? tallyById(reported, name) : combined(devices, name);
}

/** If there may be more, only an answer that more cannot change is known. */
function ofAtLeast(
  test: Order,
  atLeast: number,
  { found, doubt }: { found: string; doubt: string | undefined },
): PredicateResult {
  const is = comparesNumber(test, atLeast);
  if (doubt === undefined) return { truth: truthOf(is), found };
  const [bound = 0] = test.bound;
  const canChange = test.op === '>' || test.op === '>=' ? !is : atLeast <= bound && (is || test.op === '=');
  return canChange ? { truth: 'unknown', found: `${found}, but ${doubt}` } : { truth: truthOf(is), found };
}

/** Why there may be more of a device than was seen. */
function doubtOf(name: string, { unread }: Inventory): string | undefined {
  const bus = unread.find((each) =>
    isDeviceId(name)
      ? name.startsWith(`${each}:`)
      : identitiesIn(name)
          .flatMap(busesOfIdentity)
          .some((on) => on === each),
  );
  return bus && `cannot read the bus ${bus} (yet)`;
}

function driver({ name, test }: { name: string; test?: Among }, inventory: Inventory): PredicateResult {
  const { devices, heldDrivers } = inventory;
  if (!devices) return { truth: 'unknown', found: NO_AGENT };
  const tallied = talliedOf(name, devices, inventory);
  const doubt = doubtOf(name, inventory);
  if (doubt !== undefined) return { truth: 'unknown', found: `the agent ${doubt}` };
  if (tallied.count === 0) return { truth: 'no', found: `the agent sees no ${name}` };
  const held = identitiesIn(name).find((identity) => heldDrivers.has(identity));
  if (held !== undefined) {
    return { truth: 'no', found: `the driver of ${held} changed too often, and is held back` };
  }
  const bound = driverOf(tallied);
  const is = bound !== undefined && (test === undefined || isAmong(test, bound));
  return { truth: truthOf(is), found: bound === MIXED ? differing(name, tallied.places) : alike(name, bound) };
}

function alike(name: string, bound: string | undefined): string {
  return bound === undefined ? `no driver is bound to ${name}` : `the driver of ${name} is ${bound}`;
}

function differing(name: string, places: ReadonlyMap<string, string>): string {
  const rarest = [...Map.groupBy(places, ([, bound]) => bound)].sort(([, a], [, b]) => a.length - b.length)[0];
  if (!rarest) return `the drivers of ${name} differ`;
  const [bound, [first, ...others]] = rarest;
  const which = `${first?.[0]}${others.length > 0 ? ` and ${others.length} more` : ''}`;
  return `the drivers of ${name} differ: ${which} has ${bound === '' ? 'none' : bound}`;
}

function dra({ name, test }: { name: string; test: Order }, inventory: Inventory): PredicateResult {
  if (!inventory.dra) return { truth: 'unknown', found: 'the ResourceSlices have not been listed yet' };
  const { count: offered, isComplete } = inventory.dra.get(name) ?? { count: 0, isComplete: true };
  const found = `${offered} devices of ${name} are in ResourceSlices of the node`;
  return ofAtLeast(test, offered, { found, doubt: isComplete ? undefined : 'the pool is not complete' });
}

function fact(
  { name, test }: { name: string; test?: Among | Order },
  { facts, unread, devices }: Inventory,
): PredicateResult {
  const fact = own(facts, name);
  const isKnown = devices !== undefined && !unread.includes('facts');
  if (fact === undefined) {
    if (!isKnown) return { truth: 'unknown', found: 'the agent has not read the facts yet' };
    return { truth: 'no', found: `the agent found no ${name} on its machine` };
  }
  const found = `the agent reports ${name} as ${JSON.stringify(fact)}`;
  return { truth: truthOf(fulfils(test, fact)), found };
}

function fulfils(test: Among | Order | undefined, text: string): boolean {
  return test === undefined || (isOrder(test) ? compares(test, text) === true : isAmong(test, text));
}

type NfdTerm = Extract<MachinePredicate, { kind: 'nfd' }>;

/** An agent that reads `features.d` itself is nearer to it than the NodeFeature in which NFD repeats it. */
function nfd(predicate: NfdTerm, { answers, values, nfd: features }: Inventory): PredicateResult {
  const question = questionOf(predicate) ?? '';
  const isThere = own(answers, question);
  if (isThere !== undefined)
    return ofFeature(predicate, 'features.d', isThere ? (own(values, question) ?? 'true') : null);
  if (!features) return { truth: 'unknown', found: 'the NodeFeatures have not been listed yet' };
  const value = own(features, predicate.name);
  if (value !== undefined) return ofFeature(predicate, 'NFD', value);
  return { truth: 'unknown', found: `no NodeFeature of the node lists ${featureName(predicate.name)?.feature}` };
}

function ofFeature({ name, test }: NfdTerm, source: 'NFD' | 'features.d', value: FeatureValue): PredicateResult {
  if (value === null) return { truth: 'no', found: `${source} of the node has no ${name}` };
  if (value === true) return { truth: truthOf(test === undefined), found: `${source} of the node has ${name}` };
  if (typeof value === 'string') {
    const found = `${source} of the node reports ${name} as ${JSON.stringify(value)}`;
    return { truth: truthOf(fulfils(test, value)), found };
  }
  const is = test !== undefined && isOrder(test) && comparesNumber(test, value);
  return { truth: truthOf(is), found: `${source} of the node has ${value} of ${name}` };
}
