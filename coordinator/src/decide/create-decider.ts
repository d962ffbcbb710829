import { isOfService } from '../fleet/node-keys.ts';
import type { CoordinatorConfig } from '../setup/config.ts';
import type { KeyRegistry } from '../setup/keys/key-registry.ts';
import { Decider, type DeciderOptions } from './decider.ts';

type Given =
  | 'client'
  | 'fence'
  | 'keys'
  | 'services'
  | 'servicesKnown'
  | 'serviceUids'
  | 'holdsOn'
  | 'firstTaints'
  | 'onPodsKnown'
  | 'rules'
  | 'followUps'
  | 'announcer'
  | 'mayDecide'
  | 'clock'
  | 'random'
  | 'logger'
  | 'registry';

/** The decider as the configuration wants it. */
export function createDecider(config: CoordinatorConfig, given: Pick<DeciderOptions, Given>): Decider {
  const { evict } = config;
  return new Decider({
    ...config,
    ...given,
    gate: config.readinessGate,
    startupGate: { requires: config.startupGateRequires, maxWaitMs: config.startupGateMaxWaitSeconds * 1000 },
    deviceGrammar: {
      pci: { deviceClassWhitelist: config.pciDeviceClassWhitelist, deviceLabelFields: config.pciDeviceLabelFields },
      usb: { deviceClassWhitelist: config.usbDeviceClassWhitelist, deviceLabelFields: config.usbDeviceLabelFields },
    },
    eviction: evict ? evictionFor(config, given.keys) : undefined,
    allAnnotations: config.notifyUrl.length > 0,
    windowMs: config.staleAfterSeconds * 1000,
    guardPercent: config.fleetGuardPercent,
    massWithdrawalDelayMs: config.massWithdrawalDelaySeconds * 1000,
  });
}

/** Pods are not evicted for labels of services unless that is asked for, and never for what was configured of services. */
export function evictionFor(
  { evictReadiness }: Pick<CoordinatorConfig, 'evictReadiness'>,
  keys: KeyRegistry,
): NonNullable<DeciderOptions['eviction']> {
  return {
    isIgnored: ({ label, origin, cause }) =>
      (isOfService(origin) || keys.isOfService(label)) && (!evictReadiness || cause === 'configuration'),
  };
}
