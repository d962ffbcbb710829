import type { Service } from '../services.ts';
import type { Labeler } from './labeler.ts';
import { reservedKeys } from './pool-keys.ts';
import { poolLabelsLabeler } from './pool-labels.ts';
import { type ReadinessGate, readinessLabeler } from './readiness.ts';
import { scaleDownLabeler } from './scale-down.ts';
import { type StartupGateOptions, startupGateLabeler } from './startup-gate.ts';

/** All labelers. Their order does not matter. */
export function createLabelers(options: {
  services: readonly Service[];
  gate: ReadinessGate;
  poolLabels: readonly string[];
  forbiddenLabelDomains: readonly string[];
  startupGate: StartupGateOptions;
}): readonly Labeler[] {
  return [
    readinessLabeler(options),
    scaleDownLabeler,
    poolLabelsLabeler(reservedKeys(options)),
    startupGateLabeler(options.startupGate),
  ];
}
