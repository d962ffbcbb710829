import { identityOf } from '@rollcall/common/accelerators.ts';
import type { DeviceReport } from '@rollcall/common/report.ts';
import { describe, expect, test } from 'vitest';
import { deviceName, distinctDevices } from './device-list.ts';
import { RemovalGrace } from './device-scanner.ts';

function usb(id: string, serial?: string): DeviceReport {
  const [vendor = '', device = ''] = id.split(':');
  return { bus: 'usb', attributes: { class: 'ff', vendor, device, ...(serial === undefined ? {} : { serial }) } };
}

const CORAL = usb('1a6e:089a');
const CORAL_USED = usb('18d1:9302');
const CORAL_PCI: DeviceReport = { bus: 'pci', attributes: { class: '0880', vendor: '1ac1', device: '089a' } };
const NCS2 = usb('03e7:2485');
const KEYBOARD = usb('046d:c31c');

function start(graceMs = 5000) {
  const grace = new RemovalGrace({ graceMs, identityOf });
  const at = (nowMs: number, ...devices: DeviceReport[]) =>
    [...grace.apply(distinctDevices(devices), nowMs).values()].map(
      (device) => deviceName(device) + (device.attributes['serial'] ?? ''),
    );
  return { grace, at };
}

describe('a device of a known identity that vanished', () => {
  test('stays for the grace, and goes when it is over', () => {
    const { at, grace } = start();
    at(0, CORAL);
    expect(grace.untilMs).toBeUndefined();
    expect(at(1000)).toEqual(['1a6e:089a']);
    expect(grace.untilMs).toBe(6000);
    expect(at(5999)).toEqual(['1a6e:089a']);
    expect(at(6000)).toEqual([]);
    expect(grace.untilMs).toBeUndefined();
    expect(at(7000)).toEqual([]);
  });

  test('goes at once when it comes back with another id', () => {
    const { at } = start();
    at(0, CORAL);
    expect(at(1000)).toEqual(['1a6e:089a']);
    expect(at(3000, CORAL_USED)).toEqual(['18d1:9302']);
    expect(at(4000)).toEqual(['18d1:9302']);
    expect(at(9000)).toEqual([]);
  });

  test('has a whole grace again each time that it vanishes', () => {
    const { at } = start();
    at(0, CORAL);
    expect(at(1000)).toEqual(['1a6e:089a']);
    expect(at(5000, CORAL)).toEqual(['1a6e:089a']);
    expect(at(6000)).toEqual(['1a6e:089a']);
    expect(at(10_999)).toEqual(['1a6e:089a']);
    expect(at(11_000)).toEqual([]);
  });

  test('on USB stays until one has come in its place, whatever else of its kind is there', () => {
    const { at } = start();
    at(0, usb('1a6e:089a', 'A'), usb('1a6e:089a', 'B'), CORAL_PCI);
    expect(at(1000, usb('1a6e:089a', 'B'), CORAL_PCI)).toHaveLength(3);
    expect(at(2000, usb('18d1:9302', 'A'), usb('1a6e:089a', 'B'), CORAL_PCI)).toEqual([
      '1ac1:089a',
      '1a6e:089aB',
      '18d1:9302A',
    ]);
  });

  test('on PCI goes at once while another of its kind is there, so that the loss of one of eight shows', () => {
    const { at } = start();
    const gpu = (address: string): DeviceReport => ({ ...CORAL_PCI, address });
    at(0, gpu('a'), gpu('b'));
    expect(at(1000, gpu('a'))).toHaveLength(1);
    expect(at(2000)).toHaveLength(1);
    expect(at(7000)).toHaveLength(0);
  });

  test('stays with those that vanished together with it, each until one has come', () => {
    const { at } = start();
    const [a, b] = [usb('1a6e:089a', 'A'), usb('1a6e:089a', 'B')].map((one, index) => ({
      ...one,
      address: `1-${index}`,
    }));
    if (!a || !b) throw new Error('not two');
    at(0, a, b);
    expect(at(1000)).toEqual(['1a6e:089aA', '1a6e:089aB']);
    expect(at(2000, { ...usb('18d1:9302', 'B'), address: b.address })).toEqual(['18d1:9302B', '1a6e:089aA']);
    expect(at(6000, { ...usb('18d1:9302', 'B'), address: b.address })).toEqual(['18d1:9302B']);
  });

  test('is what has waited longest where one has come at another place', () => {
    const { at } = start();
    const coral = (serial: string, address: string) => ({ ...usb('1a6e:089a', serial), address });
    at(0, coral('A', '1-1'), coral('B', '1-2'));
    at(1000, coral('B', '1-2'));
    at(2000);
    expect(at(3000, { ...CORAL_USED, address: '1-9' })).toEqual(['18d1:9302', '1a6e:089aB']);
  });

  test('is not held by a device of another identity', () => {
    const { at } = start();
    at(0, CORAL, NCS2);
    expect(at(1000, NCS2)).toEqual(['03e7:2485', '1a6e:089a']);
    expect(at(6000, NCS2)).toEqual(['03e7:2485']);
  });

  test('goes at once without a grace', () => {
    const { at } = start(0);
    at(0, CORAL);
    expect(at(1000)).toEqual([]);
    expect(at(2000, CORAL)).toEqual(['1a6e:089a']);
  });
});

test('a device of no known identity goes at once', () => {
  const { at } = start();
  at(0, KEYBOARD, CORAL);
  expect(at(1000, CORAL)).toEqual(['1a6e:089a']);
});
