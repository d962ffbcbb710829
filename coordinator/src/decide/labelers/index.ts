import type { KeyRegistry } from '../../model/keys/key-registry.ts';
import type { Service } from '../../model/services.ts';
import type { DeviceGrammar } from './device-grammar.ts';
import { deviceLabelsLabeler } from './device-labels.ts';
import { factLabelsLabeler } from './fact-labels.ts';
import { impliedLabels, type Rules } from './implied-labels.ts';
import type { Labelers } from './labeler.ts';
import { leftOverKeys } from './left-over-keys.ts';
import { reservedKeys } from './pool-keys.ts';
import { poolLabelsLabeler } from './pool-labels.ts';
import { type ReadinessOptions, readinessLabeler } from './readiness.ts';
import { scaleDownLabeler } from './scale-down.ts';
import { schedulingHintLabeler } from './scheduling-hint.ts';
import { type ServicesStartedOptions, servicesStartedLabeler } from './services-started.ts';
import { type StartupGateOptions, startupGateLabeler } from './startup-gate.ts';
import { undecidedLabels } from './undecided-labels.ts';
import { type WithdrawnLabel, type WithdrawnLabelsOptions, withdrawnLabels } from './withdrawn-labels.ts';

/** What labelers are made with. */
export type LabelerOptions = {
  services: () => readonly Service[];
  serviceUids: ServicesStartedOptions['serviceUids'];
  withheldTaint: ReadinessOptions['withheldTaint'];
  hasEvictionPlace: WithdrawnLabelsOptions['hasEvictionPlace'];
  keys: KeyRegistry;
  poolsAllowedPrefixes: readonly string[];
  poolsRemovedLabels: readonly string[];
  forbiddenLabelDomains: readonly string[];
  startupGate: StartupGateOptions;
  deviceGrammar: DeviceGrammar;
  factLabels: readonly string[];
  /** The rules as they are at the moment; without it, there are none. */
  rules: (() => Rules) | undefined;
  /** Whether to note which labels were taken, so that pods can be evicted for it, and for which not. */
  eviction: { isIgnored: (withdrawn: WithdrawnLabel) => boolean } | undefined;
};

/** What the budgets of services say. */
export type Budgeted = 'withheldTaint' | 'hasEvictionPlace';

/** All labelers. Rules build on what the others want, and eviction on what rules want. */
export function createLabelers(options: LabelerOptions): Labelers {
  const { rules, eviction, keys, services, hasEvictionPlace } = options;
  return {
    labelers: [
      readinessLabeler(options),
      servicesStartedLabeler(options),
      scaleDownLabeler,
      poolLabelsLabeler(reservedKeys(keys, options)),
      deviceLabelsLabeler(options.deviceGrammar),
      factLabelsLabeler(options.factLabels),
      schedulingHintLabeler,
    ],
    consequences: [
      leftOverKeys(keys, 'before-rules'),
      ...(rules ? [impliedLabels(rules, keys, services, options.factLabels)] : []),
      leftOverKeys(keys, 'after-rules', services),
      startupGateLabeler(options.startupGate, services, undecidedLabels(options.factLabels, rules)),
      ...(eviction ? [withdrawnLabels({ ...eviction, services, rules, hasEvictionPlace })] : []),
    ],
  };
}
