import type { KeyConfig } from './key-entry.ts';
import { KeyRegistry } from './key-registry.ts';

/** A registry of what is always ours, and of what the test is about. */
export function registryOf(change: Partial<KeyConfig> = {}): KeyRegistry {
  const base = { watchedServices: [], poolLabels: [], startupGateRequires: [] } as const;
  return new KeyRegistry({ ...base, ...change });
}
