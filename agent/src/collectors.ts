import type { DeviceReport } from '@rollcall/common/report.ts';

/** What is known of the machine itself, besides its services. */
export type MachineObservations = {
  devices: readonly DeviceReport[];
  facts: Readonly<Record<string, string>>;
};

/** The place where the collectors of devices and facts come together. There are none yet, so both are empty. */
export function observeMachine(): MachineObservations {
  return { devices: [], facts: {} };
}
