import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readMachineFiles } from './machine-files.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'rollcall-facts-'));
});

afterEach(() => {
  rmSync(root, { recursive: true });
});

function put(name: string, content: string | Buffer) {
  mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
  writeFileSync(path.join(root, name), content);
}

describe('readMachineFiles', () => {
  test('reads what is there and leaves the rest empty', () => {
    put('sys/class/dmi/id/sys_vendor', 'QEMU\n');
    put('etc/os-release', 'ID=debian\n');
    expect(readMachineFiles(root)).toEqual({
      systemVendor: 'QEMU\n',
      systemModel: '',
      boardVendor: '',
      boardModel: '',
      cpuinfo: '',
      cores: [],
      sockets: [],
      clockSources: '',
      hypervisorType: '',
      osRelease: 'ID=debian\n',
    });
  });

  test('finds each core and each socket once, and passes over what is no processor, or is switched off', () => {
    const siblings = ['0,2', '1,3', '0,2', '1,3'];
    for (const [cpu, core] of siblings.entries()) {
      put(`sys/devices/system/cpu/cpu${cpu}/topology/core_cpus_list`, `${core}\n`);
      put(`sys/devices/system/cpu/cpu${cpu}/topology/package_cpus_list`, '0-3\n');
    }
    mkdirSync(path.join(root, 'sys/devices/system/cpu/cpu4'));
    put('sys/devices/system/cpu/cpufreq/topology/core_cpus_list', '9\n');
    expect(readMachineFiles(root)).toMatchObject({ cores: ['0,2', '1,3'], sockets: ['0-3'] });
  });

  test('knows the names of kernels before 5.2', () => {
    put('sys/devices/system/cpu/cpu0/topology/thread_siblings_list', '0\n');
    put('sys/devices/system/cpu/cpu0/topology/core_siblings_list', '0-1\n');
    expect(readMachineFiles(root)).toMatchObject({ cores: ['0'], sockets: ['0-1'] });
  });

  test('knows no sockets where the firmware did not tell the kernel', () => {
    put('sys/devices/system/cpu/cpu0/topology/physical_package_id', '-1\n');
    put('sys/devices/system/cpu/cpu0/topology/core_cpus_list', '0\n');
    put('sys/devices/system/cpu/cpu0/topology/package_cpus_list', '0-3\n');
    expect(readMachineFiles(root)).toMatchObject({ cores: ['0'], sockets: [] });
  });

  test('reads no more than the beginning of a huge file', () => {
    put('proc/cpuinfo', Buffer.alloc(1_000_000, 'x'));
    expect(readMachineFiles(root).cpuinfo).toHaveLength(16_384);
  });

  test('goes on past a directory or a dead link where a file should be', () => {
    mkdirSync(path.join(root, 'sys/class/dmi/id/sys_vendor'), { recursive: true });
    symlinkSync('nowhere', path.join(root, 'sys/class/dmi/id/product_name'));
    expect(readMachineFiles(root)).toMatchObject({ systemVendor: '', systemModel: '' });
  });

  test.each(['.dockerenv', 'run/.containerenv', 'dev/termination-log'])(
    'does not take the distribution of an image for the distribution of the machine (%s)',
    (mark) => {
      put('etc/os-release', 'ID=debian\n');
      put(mark, '');
      expect(readMachineFiles(root).osRelease).toBe('');
    },
  );
});
