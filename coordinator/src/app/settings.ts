import { durationMs } from '@rollcall/common/duration-ms.ts';
import type { EvaluatorOptions } from '../decide/evaluator.ts';
import type { Budgeted, LabelerOptions } from '../decide/labelers/index.ts';
import type { StartupGateOptions } from '../decide/labelers/startup-gate.ts';
import type { CoordinatorConfig } from '../model/config.ts';
import type { KeyRegistry } from '../model/keys/key-registry.ts';
import type { FleetOptions } from '../state/fleet.ts';
import { isOfService } from '../state/node-keys.ts';

/** Settings of the labelers, from the configuration. */
export function labelerSettings(
  config: CoordinatorConfig,
  keys: KeyRegistry,
): Omit<LabelerOptions, 'services' | 'serviceUids' | 'rules' | Budgeted> {
  return {
    keys,
    poolsAllowedPrefixes: config.poolsAllowedPrefixes,
    poolsRemovedLabels: config.poolsRemovedLabels,
    forbiddenLabelDomains: config.forbiddenLabelDomains,
    startupGate: {
      requires: config.startupGateRequires,
      maxWaitMs: config.startupGateMaxWaitSeconds * 1000,
      daemonSets: config.startupGateDaemonSets ? daemonSetGate(config) : undefined,
    },
    deviceGrammar: {
      labels: config.hardwareLabels,
      pci: { deviceClassWhitelist: config.pciDeviceClassWhitelist, deviceLabelFields: config.pciDeviceLabelFields },
      usb: { deviceClassWhitelist: config.usbDeviceClassWhitelist, deviceLabelFields: config.usbDeviceLabelFields },
    },
    factLabels: config.agents ? config.factLabels : [],
    eviction: config.evict ? evictionFor(config, keys) : undefined,
  };
}

function daemonSetGate(config: CoordinatorConfig): NonNullable<StartupGateOptions['daemonSets']> {
  return {
    namespaces: config.startupGateDaemonSetsNamespaces,
    exclude: config.startupGateDaemonSetsExclude,
    startupTaints: config.startupGateDaemonSetsTaints,
    timeoutMs: durationMs(config.startupGateDaemonSetsTimeout) ?? 0,
    onTimeout: config.startupGateDaemonSetsOnTimeout,
  };
}

/** Pods are not evicted for labels of services unless that is asked for, and never for what was configured of services. */
export function evictionFor(
  { evictReadiness }: Pick<CoordinatorConfig, 'evictReadiness'>,
  keys: KeyRegistry,
): NonNullable<LabelerOptions['eviction']> {
  return {
    isIgnored: ({ label, origin, cause }) =>
      (isOfService(origin) || keys.isOfService(label)) && (!evictReadiness || cause === 'configuration'),
  };
}

/** Settings of the fleet, from the configuration. */
export function fleetSettings(
  config: CoordinatorConfig,
): Pick<FleetOptions, 'agents' | 'poolLabels' | 'windowMs' | 'guardPercent' | 'allAnnotations'> {
  return {
    agents: config.agents,
    poolLabels: config.poolLabels,
    windowMs: config.staleAfterSeconds * 1000,
    guardPercent: config.fleetGuardPercent,
    allAnnotations: config.notifyUrl.length > 0,
  };
}

/** Settings of the guard against mass withdrawal, from the configuration. */
export function guardSettings(config: CoordinatorConfig): Pick<EvaluatorOptions, 'massWithdrawalDelayMs'> {
  return { massWithdrawalDelayMs: config.massWithdrawalDelaySeconds * 1000 };
}
