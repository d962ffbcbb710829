import type { Service } from '../services.ts';
import type { DeviceGrammar } from './device-grammar.ts';
import { deviceLabelsLabeler } from './device-labels.ts';
import { factLabelsLabeler } from './fact-labels.ts';
import { impliedLabels, type Rules } from './implied-labels.ts';
import type { Labelers } from './labeler.ts';
import { reservedKeys } from './pool-keys.ts';
import { poolLabelsLabeler } from './pool-labels.ts';
import { type ReadinessGate, readinessLabeler } from './readiness.ts';
import { scaleDownLabeler } from './scale-down.ts';
import { schedulingHintLabeler } from './scheduling-hint.ts';
import { type StartupGateOptions, startupGateLabeler } from './startup-gate.ts';
import { withdrawnLabels } from './withdrawn-labels.ts';

/** All labelers. */
export function createLabelers(options: {
  services: readonly Service[];
  gate: ReadinessGate;
  poolLabels: readonly string[];
  forbiddenLabelDomains: readonly string[];
  startupGate: StartupGateOptions;
  deviceGrammar: DeviceGrammar;
  factLabels: readonly string[];
  /** The rules as they are at the moment; without it, there are none. */
  rules: (() => Rules) | undefined;
  /** Whether to note which labels were taken, so that pods can be evicted for it, and for which not. */
  eviction: { ignoredLabels: ReadonlySet<string> } | undefined;
}): Labelers {
  const { rules, eviction } = options;
  return {
    labelers: [
      readinessLabeler(options),
      scaleDownLabeler,
      poolLabelsLabeler(reservedKeys(options)),
      startupGateLabeler(options.startupGate),
      deviceLabelsLabeler(options.deviceGrammar),
      factLabelsLabeler(options.factLabels),
      schedulingHintLabeler,
    ],
    consequences: [
      ...(rules ? [impliedLabels(rules)] : []),
      ...(eviction ? [withdrawnLabels(eviction.ignoredLabels)] : []),
    ],
  };
}
