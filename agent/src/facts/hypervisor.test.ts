import { describe, expect, test } from 'vitest';
import { hypervisorOf } from './select-facts.ts';

const GUEST = 'flags\t\t: fpu hypervisor\n';
const BARE = 'flags\t\t: fpu vmx\n';
const ARM = 'Features\t: fp asimd\n';
const NOTHING = { cpuinfo: GUEST, clockSources: '', hypervisorType: '', systemVendor: '', systemModel: '' };

describe('hypervisorOf', () => {
  test.each([
    ['tsc kvm-clock \n', 'KVM'],
    ['tsc xen\n', 'Xen'],
    ['hyperv_clocksource_tsc_page hyperv_clocksource_msr acpi_pm\n', 'Hyper-V'],
    ['tsc hpet acpi_pm\n', undefined],
  ])('knows a guest by its clock sources: %j', (clockSources, expected) => {
    expect(hypervisorOf({ ...NOTHING, clockSources })).toBe(expected);
  });

  test.each([
    ['VMware, Inc.', 'VMware7,1', 'VMware'],
    ['innotek GmbH', 'VirtualBox', 'VirtualBox'],
    ['Microsoft Corporation', 'Virtual Machine', 'Hyper-V'],
    ['Red Hat', 'KVM', 'KVM'],
    ['QEMU', 'Standard PC (Q35 + ICH9, 2009)', 'QEMU'],
    ['Microsoft Corporation', 'Surface Laptop', undefined],
    ['Dell Inc.', 'PowerEdge R750', undefined],
    ['', '', undefined],
  ])('knows a guest by its firmware: %s %s', (vendor, model, expected) => {
    const files = { systemVendor: `${vendor}\n`, systemModel: `${model}\n` };
    expect(hypervisorOf({ ...NOTHING, ...files })).toBe(expected);
    expect(hypervisorOf({ ...NOTHING, ...files, cpuinfo: ARM })).toBe(expected);
  });

  test('knows Xen by its own file', () => {
    expect(hypervisorOf({ ...NOTHING, hypervisorType: 'xen\n' })).toBe('Xen');
  });

  test('says that there is none under a processor that says that it is no guest', () => {
    expect(
      hypervisorOf({ ...NOTHING, cpuinfo: BARE, clockSources: 'kvm-clock', systemVendor: 'QEMU' }),
    ).toBeUndefined();
  });
});
