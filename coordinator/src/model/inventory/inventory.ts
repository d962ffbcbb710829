import type { DeviceReport, Unread } from '@rollcall/common/report.ts';
import type { Features } from './feature-name.ts';
import type { DeviceTally } from './tally.ts';

/** Devices that a driver for dynamic resource allocation offers on a node. */
export type DraDevices = {
  /** At least so many. */
  count: number;
  /** All slices of its pools were seen. */
  isComplete: boolean;
};

/** What a node has, labels apart, as far as it is known. */
export type Inventory = {
  /** `undefined` while no agent has spoken. */
  devices: DeviceTally | undefined;
  /** All devices that the agent reports; none while no agent has spoken. */
  reported: readonly DeviceReport[];
  /** By identity, where some were in this term of leadership that are no longer there. */
  gone: ReadonlyMap<string, readonly string[]>;
  /** Identities whose driver counts as none for now, since it comes and goes. */
  heldDrivers: ReadonlySet<string>;
  /** What the agent could not look at. */
  unread: readonly Unread[];
  facts: Readonly<Record<string, string>>;
  /** What the agent answers of what it was asked. */
  answers: Readonly<Record<string, boolean>>;
  /** By question, of what is there and has a value. */
  values: Readonly<Record<string, string>>;
  /** `undefined` where only metadata of Nodes is watched. */
  allocatable: Readonly<Record<string, string>> | undefined;
  /** By name, whether the Node declares the feature; not there while it is not known. `undefined` like `allocatable`. */
  declared: ReadonlyMap<string, boolean> | undefined;
  /** By driver; `undefined` while the ResourceSlices are not known. */
  dra: ReadonlyMap<string, DraDevices> | undefined;
  /** `undefined` while the NodeFeatures are not known. */
  nfd: Features | undefined;
};
