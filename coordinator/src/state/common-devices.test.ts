import { expect, test } from 'vitest';
import { CommonDevices } from './common-devices.ts';

const device = (serial: string) => ({ bus: 'usb' as const, attributes: { vendor: '18d1', serial } });

test('a device that many machines have is kept once, unless it is described at length', () => {
  const devices = new CommonDevices();
  expect(devices.intern(device('x'))).toBe(devices.intern(device('x')));
  const long = device('x'.repeat(500));
  expect(devices.intern(long)).toBe(long);
  expect(devices.intern(device('x'.repeat(500)))).not.toBe(long);
});

test('it is remembered only among so many', () => {
  const devices = new CommonDevices();
  const first = devices.intern(device('x'));
  for (let index = 0; index < 10_000; index += 1) devices.intern(device(String(index).padEnd(440, '-')));
  expect(devices.intern(device('x'))).not.toBe(first);
});
