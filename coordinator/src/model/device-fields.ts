/** Fields that labels of devices may be made of, in the order that NFD gives them. */
export const DEVICE_FIELDS = {
  pci: ['class', 'vendor', 'device', 'subsystem_vendor', 'subsystem_device'],
  usb: ['class', 'vendor', 'device', 'serial'],
} as const;

/** Checks names of fields. Returns what is wrong. */
export function checkFields(known: readonly string[]): (names: readonly string[]) => string | undefined {
  return (names) => {
    const unknown = names.filter((name) => !known.includes(name));
    return unknown.length > 0 ? `must be of ${known.join(', ')}, not ${unknown.join(', ')}` : undefined;
  };
}
