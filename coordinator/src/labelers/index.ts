import type { Service } from '../services.ts';
import type { Labeler } from './labeler.ts';
import { readinessLabeler } from './readiness.ts';

/** All labelers. Their order does not matter. */
export function createLabelers(options: { services: readonly Service[]; requirePod: boolean }): readonly Labeler[] {
  return [readinessLabeler(options)];
}
