import { identityOf } from '@rollcall/common/accelerators.ts';
import type { Clock } from '@rollcall/common/clock.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { AgentConfig } from './config.ts';
import { openBuses } from './devices/buses.ts';
import { DeviceScanner } from './devices/device-scanner.ts';
import { openHostFiles } from './devices/host-files.ts';
import { openKernelEvents } from './devices/sysfs-bus.ts';
import { canHearHotplug } from './devices/usb/hotplug-gate.ts';
import { HotplugHints } from './devices/usb/hotplug-hints.ts';
import { Answers } from './facts/answers.ts';
import { FactsCollector } from './facts/facts-collector.ts';
import { openFeatureFiles } from './facts/feature-files.ts';
import { openKernelFiles } from './facts/kernel-files.ts';
import type { AgentMetrics } from './metrics.ts';
import type { PathTurns } from './path-turns.ts';
import type { Observations } from './report/report-builder.ts';

/** What is known of the machine itself, besides its services. */
type MachineObservations = Omit<Observations, 'services'>;

export type MachineCollectorsOptions = {
  config: Pick<
    AgentConfig,
    'hostIp' | 'sysfsRoot' | 'procfsRoot' | 'featuresDir' | 'deviceRemovalGraceSeconds' | 'deviceTreeNodes'
  >;
  clock: Clock;
  logger: Logger;
  metrics: Pick<AgentMetrics, 'collectors' | 'devices'>;
  signal: AbortSignal;
  /** Shared with all others that look at paths on mounts that may hang. */
  turns: PathTurns;
  /** Called when there is something else to report. */
  onChange: () => void;
};

/** Devices that each scan compares with what they were, where the kernel does not count events: all would cost too much. */
const COMPARED_WITHOUT_EVENTS = { turn: 2, urgent: 8 };

/** All that looks at the machine itself: its devices, hints that one was just plugged, its facts, and what is asked. */
export class MachineCollectors {
  readonly #scanner: DeviceScanner;
  readonly #hints: HotplugHints;
  readonly #facts: FactsCollector;
  readonly #answers: Answers;

  constructor({ config, metrics, turns, ...options }: MachineCollectorsOptions) {
    const { sysfsRoot, procfsRoot, featuresDir, deviceTreeNodes } = config;
    const files = openHostFiles();
    const kernelEvents = openKernelEvents(files, sysfsRoot);
    this.#scanner = new DeviceScanner({
      ...options,
      collectors: openBuses({
        sysfsRoot,
        procfsRoot,
        files,
        deviceTreeNodes,
        isAccelerator: (device) => identityOf(device) !== undefined,
        onLateNews: () => this.#scanner.scanSoon(),
        ...(kernelEvents ? {} : { compared: COMPARED_WITHOUT_EVENTS }),
      }),
      ...(kernelEvents ? { kernelEvents } : {}),
      collectorMetrics: metrics.collectors,
      deviceMetrics: metrics.devices,
      graceMs: config.deviceRemovalGraceSeconds * 1000,
      identityOf,
    });
    this.#hints = new HotplugHints({
      ...options,
      gate: () => canHearHotplug(config),
      scanSoon: () => this.#scanner.scanSoon(),
    });
    this.#facts = new FactsCollector({ ...options, metrics: metrics.collectors });
    this.#answers = new Answers({
      ...options,
      kernel: openKernelFiles(config),
      features: featuresDir === undefined ? undefined : openFeatureFiles(featuresDir, options.clock, turns),
    });
  }

  /** Returns when the devices are known; the facts come later. */
  start(): void {
    this.#scanner.start();
    this.#hints.start();
    this.#facts.start();
  }

  /** What every report is to answer from now on, as the coordinator says. */
  ask(questions: readonly string[]): void {
    this.#answers.ask(questions);
  }

  observe(): MachineObservations {
    const { devices, unread } = this.#scanner.scanned();
    const facts = this.#facts.facts();
    return { devices, unread: facts ? unread : [...unread, 'facts'], facts: facts ?? {}, ...this.#answers.answered() };
  }
}
