import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseFacts } from './parse-facts.ts';
import { type MachineReading, selectFacts } from './select-facts.ts';

const NO_FILES = {
  systemVendor: '',
  systemModel: '',
  boardVendor: '',
  boardModel: '',
  cpuinfo: '',
  cores: [],
  sockets: [],
  clockSources: '',
  hypervisorType: '',
  osRelease: '',
};

/** The beginning of /proc/cpuinfo in a virtual machine. */
const CPUINFO = `processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 106
model name\t: Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz
stepping\t: 6
flags\t\t: fpu vme hypervisor lahf_lm
`;

/** What `systeminformation` and the files give on a server with everything in place. */
const SERVER: MachineReading = {
  cpu: {
    manufacturer: 'Intel',
    brand: 'Xeon® Gold 6338',
    vendor: 'Intel',
    family: '6',
    model: '106',
    stepping: '6',
    speedMax: 3.2,
    cores: 128,
    physicalCores: 64,
    processors: 2,
  },
  memory: { total: 540_000_000_000 },
  system: { manufacturer: 'Dell Inc.', model: 'PowerEdge R750', virtual: false },
  board: { manufacturer: 'Dell Inc.', model: '0PJ80M' },
  files: { ...NO_FILES, cpuinfo: 'flags\t\t: fpu vme vmx\n', osRelease: 'NAME="Debian"\nID=debian\nVERSION_ID="13"\n' },
  kernel: '6.12.1',
  architecture: 'x86_64',
};

/** The same without a shell, lscpu and dmidecode: empties, zeros, and what the package makes up. */
const DISTROLESS: MachineReading = {
  ...SERVER,
  cpu: {
    ...SERVER.cpu,
    vendor: '',
    family: '',
    model: '',
    stepping: '',
    speedMax: 0,
    physicalCores: 128,
    processors: 1,
  },
  system: { manufacturer: '', model: 'Computer', virtual: false },
  board: { manufacturer: '', model: '' },
  files: NO_FILES,
};

describe('selectFacts', () => {
  test('names everything that is known of a server', () => {
    expect(selectFacts(SERVER)).toEqual({
      architecture: 'x86_64',
      kernel: '6.12.1',
      'os-distribution': 'debian',
      'os-version': '13',
      'cpu-vendor': 'Intel',
      'cpu-brand': 'Xeon® Gold 6338',
      'cpu-family': '6',
      'cpu-model': '106',
      'cpu-stepping': '6',
      'cpu-threads': '128',
      'cpu-cores': '64',
      'cpu-sockets': '2',
      'cpu-max-mhz': '3200',
      'memory-total-bytes': '540000000000',
      'system-vendor': 'Dell Inc.',
      'system-model': 'PowerEdge R750',
      'board-vendor': 'Dell Inc.',
      'board-model': '0PJ80M',
      virtual: 'false',
    });
  });

  test('leaves out what an image without a shell cannot tell, and what the package makes up in its place', () => {
    expect(selectFacts(DISTROLESS)).toEqual({
      architecture: 'x86_64',
      kernel: '6.12.1',
      'cpu-vendor': 'Intel',
      'cpu-brand': 'Xeon® Gold 6338',
      'cpu-threads': '128',
      'memory-total-bytes': '540000000000',
    });
  });

  test('knows all of the processor without a shell', () => {
    const files = {
      ...NO_FILES,
      cpuinfo: CPUINFO,
      cores: ['0,4', '1,5', '2,6', '3,7'],
      sockets: ['0-1,4-5', '2-3,6-7'],
      clockSources: 'kvm-clock tsc acpi_pm\n',
    };
    expect(selectFacts({ ...DISTROLESS, files })).toMatchObject({
      'cpu-family': '6',
      'cpu-model': '106',
      'cpu-stepping': '6',
      'cpu-cores': '4',
      'cpu-sockets': '2',
      virtual: 'true',
      hypervisor: 'KVM',
    });
  });

  test('does not take what has the same name on another architecture for a model', () => {
    const files = { ...NO_FILES, cpuinfo: 'processor : 0\nmodel : IBM,9009-22A\n' };
    expect(selectFacts({ ...DISTROLESS, files })).not.toHaveProperty('cpu-model');
  });

  test('takes vendor and model from the files, which need no shell', () => {
    const files = { ...NO_FILES, systemVendor: 'QEMU\n', systemModel: 'Standard PC\n', boardModel: 'Default string\n' };
    const facts = selectFacts({ ...DISTROLESS, files });
    expect(facts).toMatchObject({ 'system-vendor': 'QEMU', 'system-model': 'Standard PC' });
    expect(facts).not.toHaveProperty('board-model');
  });

  test('knows a virtual machine by the CPU flag', () => {
    const files = { ...NO_FILES, cpuinfo: 'flags : fpu hypervisor lahf_lm\n' };
    expect(selectFacts({ ...DISTROLESS, files })).toMatchObject({ virtual: 'true' });
  });

  test('does not call an Arm machine physical for want of signs', () => {
    const files = { ...NO_FILES, cpuinfo: 'Features\t: fp asimd\n' };
    expect(selectFacts({ ...DISTROLESS, files })).not.toHaveProperty('virtual');
  });

  test('takes the name of an Arm processor, which the package takes for the manufacturer, as brand', () => {
    const cpu = { ...SERVER.cpu, vendor: 'ARM', manufacturer: 'Neoverse-N1', brand: '' };
    expect(selectFacts({ ...SERVER, cpu })).toMatchObject({ 'cpu-vendor': 'ARM', 'cpu-brand': 'Neoverse-N1' });
  });

  test('gives nothing that the parent would refuse, whatever the firmware says', () => {
    const junk = fc.string({ unit: 'binary', maxLength: 20 });
    const text = fc.oneof(
      junk,
      junk.map((value) => value.repeat(100)),
      fc.constantFrom('', '-', 'unknown'),
    );
    const files = fc.record({
      systemVendor: text,
      systemModel: text,
      boardVendor: text,
      boardModel: text,
      cpuinfo: fc.oneof(
        text,
        text.map((value) => `cpu family: ${value}\nmodel: ${value}\nflags: ${value}`),
      ),
      cores: fc.array(text, { maxLength: 3 }),
      sockets: fc.array(text, { maxLength: 3 }),
      clockSources: text,
      hypervisorType: text,
      osRelease: text.map((value) => `ID=${value}`),
    });
    fc.assert(
      fc.property(files, text, fc.double(), (files, manufacturer, total) => {
        const facts = selectFacts({
          ...SERVER,
          files,
          memory: { total },
          cpu: { ...SERVER.cpu, manufacturer, brand: '' },
        });
        expect(parseFacts(JSON.stringify(facts))).toEqual(facts);
      }),
      { numRuns: 30 },
    );
  });
});
