import { isOfService } from '../fleet/node-keys.ts';
import type { CoordinatorConfig } from '../setup/config.ts';
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
  const { evict, evictReadiness } = config;
  return new Decider({
    ...config,
    ...given,
    gate: config.readinessGate,
    startupGate: { requires: config.startupGateRequires, maxWaitMs: config.startupGateMaxWaitSeconds * 1000 },
    deviceGrammar: {
      pci: { deviceClassWhitelist: config.pciDeviceClassWhitelist, deviceLabelFields: config.pciDeviceLabelFields },
      usb: { deviceClassWhitelist: config.usbDeviceClassWhitelist, deviceLabelFields: config.usbDeviceLabelFields },
    },
    eviction: evict
      ? { isIgnored: (label, origin) => !evictReadiness && (isOfService(origin) || given.keys.isOfService(label)) }
      : undefined,
    allAnnotations: config.notifyUrl.length > 0,
    windowMs: config.staleAfterSeconds * 1000,
    guardPercent: config.fleetGuardPercent,
    massWithdrawalDelayMs: config.massWithdrawalDelaySeconds * 1000,
  });
}
