import type { Model } from './tlc.ts';

/** One constant of a model is another: this invariant has to fail. */
export type Mutant = { name: string; of: Model; constants: Readonly<Record<string, string>>; violates: string };

function on(...mechanisms: string[]): Record<string, string> {
  return Object.fromEntries(mechanisms.map((name) => [name, 'TRUE']));
}

/** Bounds of the protocol: R + Drift + D has to be less than L - Drift. */
const LEASE: Model = {
  module: 'LeaseFence',
  constants: {
    ...{ Coordinators: '{a, b}', R: '2', L: '5', T: '2', D: '0', Drift: '1', WritesMax: '1' },
    ...on('Fenced', 'Timeouts', 'Parts', 'Waits', 'Compares', 'Settles', 'SettlesOwn', 'FromBegin'),
  },
  invariants: ['NoOldWrite', 'OneWriter'],
  symmetry: 'Symmetry',
};

const NODES: Model = {
  module: 'NodeWrites',
  constants: {
    ...{ Nodes: '{n1, n2}', Gate: 'FALSE', MaxUnavailable: '1', T: '1', D: '0', W: '0', Bound: '3' },
    ...on('Fenced', 'Timeouts', 'Places', 'PlacesOfLost', 'ReadsBeforeRest'),
    ...on('WithdrawsFirst', 'Watches', 'TaintFirst'),
  },
  invariants: ['BudgetHolds', 'NoLastingLie', 'TaintBeforeLabel'],
  symmetry: 'Symmetry',
  constraint: 'FewGhosts',
};

const GATE = withConstants(NODES, { Gate: 'TRUE' });

/** For 20 s each. */
export const SMALL = { lease: LEASE, nodes: NODES, gate: GATE };

/** For two and a half minutes each: the watch is behind by a tick; three coordinators, whose requests are a tick under way. */
export const LARGE = {
  lease: withConstants(LEASE, { Coordinators: '{a, b, c}', L: '6', D: '1', WritesMax: '2' }),
  nodes: withConstants(NODES, { W: '1', Bound: '4' }),
};

export const MUTANTS: readonly Mutant[] = [
  { name: 'a leader that writes after its deadline', of: LEASE, constants: off('Fenced'), violates: 'NoOldWrite' },
  { name: 'a write without ?timeout=', of: LEASE, constants: off('Timeouts'), violates: 'NoOldWrite' },
  { name: 'a packet that takes longer than is left', of: LEASE, constants: { D: '3' }, violates: 'NoOldWrite' },
  { name: 'a Lease that is freed during writes', of: LEASE, constants: off('Settles'), violates: 'NoOldWrite' },
  { name: 'a new term during own old writes', of: LEASE, constants: off('SettlesOwn'), violates: 'NoOldWrite' },
  { name: 'a leader that does not notice a suspension', of: LEASE, constants: off('Parts'), violates: 'OneWriter' },
  { name: 'a standby that does not wait', of: LEASE, constants: off('Waits'), violates: 'OneWriter' },
  { name: 'a record that replaces any version', of: LEASE, constants: off('Compares'), violates: 'OneWriter' },
  { name: 'a renewal that counts from its answer', of: LEASE, constants: off('FromBegin'), violates: 'OneWriter' },
  { name: 'clocks that differ by too much', of: LEASE, constants: { Drift: '3' }, violates: 'OneWriter' },
  { name: 'writes of an old term', of: NODES, constants: off('Fenced'), violates: 'BudgetHolds' },
  { name: 'taints that hold no place', of: NODES, constants: off('Places'), violates: 'BudgetHolds' },
  { name: 'lost answers that free a place', of: NODES, constants: off('PlacesOfLost'), violates: 'BudgetHolds' },
  { name: 'a Node that rests unread', of: NODES, constants: off('ReadsBeforeRest'), violates: 'BudgetHolds' },
  { name: 'lost writes without ?timeout=', of: NODES, constants: off('Timeouts'), violates: 'BudgetHolds' },
  { name: 'a withdrawal that comes last', of: NODES, constants: off('WithdrawsFirst'), violates: 'NoLastingLie' },
  { name: 'a watch that shows nothing', of: NODES, constants: off('Watches'), violates: 'NoLastingLie' },
  { name: 'a label before its taint', of: GATE, constants: off('TaintFirst'), violates: 'TaintBeforeLabel' },
];

/** The model with only the invariant that has to fail. */
export function mutated({ of, constants, violates }: Mutant): Model {
  return { ...withConstants(of, constants), invariants: [violates] };
}

function off(mechanism: string): Record<string, string> {
  return { [mechanism]: 'FALSE' };
}

function withConstants(model: Model, constants: Readonly<Record<string, string>>): Model {
  return { ...model, constants: { ...model.constants, ...constants } };
}
