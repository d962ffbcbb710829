/** Fields that labels of devices may be made of, in the order that NFD gives them. */
export const DEVICE_FIELDS = {
  pci: ['class', 'vendor', 'device', 'subsystem_vendor', 'subsystem_device'],
  usb: ['class', 'vendor', 'device', 'serial'],
} as const;

type DeviceSettings = {
  pciDeviceClassWhitelist: readonly string[];
  pciDeviceLabelFields: readonly string[];
  usbDeviceClassWhitelist: readonly string[];
  usbDeviceLabelFields: readonly string[];
};

/** Digits of a class, which is a prefix in the whitelist. */
const CLASS_DIGITS = { pci: 4, usb: 2 } as const;

/** Says which settings of devices have no effect, as in NFD, whose configuration may be copied. */
export function settingsWithoutEffect(settings: DeviceSettings): string[] {
  return (['pci', 'usb'] as const).flatMap((bus) => {
    const isClass = (prefix: string) => prefix.length <= CLASS_DIGITS[bus] && !/^0x/i.test(prefix);
    const classes = settings[`${bus}DeviceClassWhitelist`].filter((prefix) => !isClass(prefix));
    const known: readonly string[] = DEVICE_FIELDS[bus];
    const fields = settings[`${bus}DeviceLabelFields`].filter((field) => !known.includes(field));
    return [
      ...classes.map(
        (prefix) =>
          `${bus}DeviceClassWhitelist: ${prefix} matches no class: classes have ${CLASS_DIGITS[bus]} hexadecimal digits, without 0x`,
      ),
      ...fields.map((field) => `${bus}DeviceLabelFields: ${field} is none of ${known.join(', ')}`),
    ];
  });
}
