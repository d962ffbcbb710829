import type { DeviceReport } from '@rollcall/common/report.ts';

/** Characters of what describes a device; what is longer is hardly the same elsewhere. */
const COMMON_DEVICE_MAX = 500;
/** Characters of all of them; then the memory of devices that are alike is begun anew. */
const COMMON_DEVICES_MAX = 4_000_000;

/** The machines of a fleet are much alike: a device that many of them have is kept once. */
export class CommonDevices {
  readonly #devices = new Map<string, DeviceReport>();
  #length = 0;

  intern(device: DeviceReport): DeviceReport {
    const text = JSON.stringify(device);
    if (text.length > COMMON_DEVICE_MAX) return device;
    const known = this.#devices.get(text);
    if (known) return known;
    this.#length += text.length;
    if (this.#length > COMMON_DEVICES_MAX) {
      this.#devices.clear();
      this.#length = text.length;
    }
    this.#devices.set(text, device);
    return device;
  }
}
