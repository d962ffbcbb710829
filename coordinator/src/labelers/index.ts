import type { Service } from '../services.ts';
import type { Labeler } from './labeler.ts';
import { type ReadinessGate, readinessLabeler } from './readiness.ts';
import { scaleDownLabeler } from './scale-down.ts';

/** All labelers. Their order does not matter. */
export function createLabelers(options: { services: readonly Service[]; gate: ReadinessGate }): readonly Labeler[] {
  return [readinessLabeler(options), scaleDownLabeler];
}
