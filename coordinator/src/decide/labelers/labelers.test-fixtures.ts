import type { LabelerOptions } from './index.ts';

/** The options of the labelers without any configuration. */
export const NOTHING_CONFIGURED = {
  serviceUids: () => new Set<string>(),
  poolsAllowedPrefixes: [],
  poolsRemovedLabels: [],
  forbiddenLabelDomains: [],
  startupGate: { requires: [], maxWaitMs: 0 },
  deviceGrammar: {
    labels: 'all',
    pci: { deviceClassWhitelist: [], deviceLabelFields: [] },
    usb: { deviceClassWhitelist: [], deviceLabelFields: [] },
  },
  factLabels: [],
  rules: undefined,
  eviction: undefined,
} satisfies Partial<LabelerOptions>;
