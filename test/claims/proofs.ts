import FLOORS from '../mutants/floors.json' with { type: 'json' };
import { NAMED } from '../mutants/named.ts';
import { SHIPPED } from '../mutants/shipped.ts';
import { KINDS } from '../perturb/plans.ts';
import { SCENARIOS } from '../perturb/scenarios.ts';
import { VERSIONS } from '../versions/versions.ts';
import type { Claims } from './claim.ts';
import { constant, grouped, numberIn } from './source.ts';

const histories = numberIn('test/model/halves.ts', /ROLLCALL_HISTORIES \?\? ([0-9]+)/);
const simulated = 'test/simulate/simulate.test.ts';
const nodeHours = grouped(constant(simulated, 'hurried') + constant(simulated, 'patient'));
const newest = numberIn('test/control-plane/go.mod', /k8s\.io\/kubernetes v1\.([0-9]+)\./);
const fleet = numberIn('test/soak/main.ts', /nodes: \{ type: 'string', default: '([0-9]+)'/);
const floors = Object.values(FLOORS);
const coldStart = numberIn('test/scale/cold.ts', /over the floor of applies',[^}]*atMost: ([0-9.]+)/);

/** Claims about what the tests prove. */
export const PROOFS: Claims = {
  'test/README.md': [
    `plays ${SCENARIOS.length} [scenarios]`,
    `with each of ${Object.keys(KINDS).length} faults`,
    `plays ${grouped(histories)} random [histories]`,
    `wrong for more than ${constant('test/model/judge.ts', 'LIE_MS') / 1000} s`,
    `for ${nodeHours} node-hours`,
    `2 real and ${fleet} simulated`,
    `plants ${SHIPPED.length} defects`,
    `named\` ${NAMED.length} [mutants]`,
    `between ${Math.min(...floors)} and ${Math.max(...floors)} %`,
    `It runs on Kubernetes ${VERSIONS.join(', ')} and 1.${newest}`,
    `${coldStart} times as long to label 1,000 nodes`,
  ],
  'test/model/README.md': [`${grouped(histories)} histories, always the same`],
  'test/simulate/README.md': [`${nodeHours} node-hours; two minutes`],
};
