import { identityOf } from '@rollcall/common/accelerators.ts';
import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { AgentConfig } from './config.ts';
import { DeviceScanner } from './devices/device-scanner.ts';
import { createDeviceTreeCollector } from './devices/device-tree/device-tree-collector.ts';
import { openHostFiles } from './devices/host-files.ts';
import { createPciCollector } from './devices/pci/pci-collector.ts';
import { HotplugHints } from './devices/usb/hotplug-hints.ts';
import { createUsbCollector } from './devices/usb/usb-collector.ts';
import { FactsCollector } from './facts/facts-collector.ts';
import type { AgentMetrics } from './metrics.ts';
import type { Observations } from './report/report-builder.ts';

/** What is known of the machine itself, besides its services. */
type MachineObservations = Omit<Observations, 'services'>;

export type MachineCollectorsOptions = {
  config: Pick<AgentConfig, 'sysfsRoot' | 'procfsRoot' | 'deviceRemovalGraceSeconds'>;
  clock: Clock;
  logger: Logger;
  metrics: Pick<AgentMetrics, 'collectors' | 'devices'>;
  signal: AbortSignal;
  /** Called when there is something else to report. */
  onChange: () => void;
};

/** All that looks at the machine itself: its devices, hints that one was just plugged, and its facts. */
export class MachineCollectors {
  readonly #scanner: DeviceScanner;
  readonly #hints: HotplugHints;
  readonly #facts: FactsCollector;

  constructor({ config, metrics, ...options }: MachineCollectorsOptions) {
    const { sysfsRoot, procfsRoot } = config;
    const files = openHostFiles();
    this.#scanner = new DeviceScanner({
      ...options,
      collectors: [
        createUsbCollector(sysfsRoot, files, () => this.#scanner.scanSoon()),
        createPciCollector(sysfsRoot, files),
        createDeviceTreeCollector(procfsRoot, sysfsRoot, files),
      ],
      collectorMetrics: metrics.collectors,
      deviceMetrics: metrics.devices,
      graceMs: config.deviceRemovalGraceSeconds * 1000,
      identityOf,
    });
    this.#hints = new HotplugHints({ ...options, sysfsRoot, scanSoon: () => this.#scanner.scanSoon() });
    this.#facts = new FactsCollector({ ...options, metrics: metrics.collectors });
  }

  /** Returns when the devices are known; the facts come later. */
  start(): void {
    this.#scanner.start();
    this.#hints.start();
    this.#facts.start();
  }

  observe(): MachineObservations {
    const { devices, unread } = this.#scanner.scanned();
    const facts = this.#facts.facts();
    return { devices, unread: facts ? unread : [...unread, 'facts'], facts: facts ?? {} };
  }
}
