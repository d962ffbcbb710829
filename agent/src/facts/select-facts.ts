import type { Systeminformation } from 'systeminformation';
import type { MachineFiles } from './machine-files.ts';
import { FACT_LIMITS } from './parse-facts.ts';

type Sources = Pick<MachineFiles, 'cpuinfo' | 'clockSources' | 'hypervisorType' | 'systemVendor' | 'systemModel'>;

/** Clock sources that a hypervisor offers to its guests. */
const BY_CLOCK_SOURCE: readonly [RegExp, string][] = [
  [/\bkvm-clock\b/, 'KVM'],
  [/\bxen\b/, 'Xen'],
  [/\bhyperv_clocksource/, 'Hyper-V'],
];

/** What the firmware of virtual machines calls itself: vendor and model. */
const BY_FIRMWARE: readonly [RegExp, string][] = [
  [/^VMware/i, 'VMware'],
  [/^innotek GmbH|\bVirtualBox$/i, 'VirtualBox'],
  [/^Microsoft Corporation Virtual Machine$/i, 'Hyper-V'],
  [/^Parallels/i, 'Parallels'],
  [/^(FreeBSD )?BHYVE/i, 'bhyve'],
  [/^Xen\b/i, 'Xen'],
  [/\bKVM$|^(KubeVirt|OpenStack)/i, 'KVM'],
  [/^QEMU/i, 'QEMU'],
];

/**
 * The hypervisor under this machine, by the names that `systeminformation` gives; `undefined` where there is none or
 * nothing tells. Every x86 guest has the CPU flag `hypervisor`; without it there is no hypervisor.
 */
export function hypervisorOf(files: Sources): string | undefined {
  if (isGuest(files.cpuinfo) === false) return undefined;
  if (files.hypervisorType.trim() === 'xen') return 'Xen';
  const firmware = `${files.systemVendor.trim()} ${files.systemModel.trim()}`;
  return named(BY_CLOCK_SOURCE, files.clockSources) ?? named(BY_FIRMWARE, firmware);
}

/** Whether this is a virtual machine, by the flags of an x86 processor; `undefined` where these are not known. */
function isGuest(cpuinfo: string): boolean | undefined {
  const flags = /^flags\s*:(.*)$/m.exec(cpuinfo)?.[1];
  return flags === undefined ? undefined : /\bhypervisor\b/.test(flags);
}

function named(names: readonly [RegExp, string][], text: string): string | undefined {
  return names.find(([pattern]) => pattern.test(text))?.[1];
}

/** All that was read of the machine, of which the facts are a part. */
export type MachineReading = {
  cpu: Pick<
    Systeminformation.CpuData,
    | 'manufacturer'
    | 'brand'
    | 'vendor'
    | 'family'
    | 'model'
    | 'stepping'
    | 'speedMax'
    | 'cores'
    | 'physicalCores'
    | 'processors'
  >;
  memory: Pick<Systeminformation.MemData, 'total'>;
  system: Pick<Systeminformation.SystemData, 'manufacturer' | 'model' | 'virtual' | 'virtualHost'>;
  board: Pick<Systeminformation.BaseboardData, 'manufacturer' | 'model'>;
  files: MachineFiles;
  kernel: string;
  architecture: string;
};

/** What firmware and `systeminformation` say when they have nothing to say. */
const PLACEHOLDERS = new Set([
  '-',
  'base board product name',
  'computer',
  'default string',
  'docker container',
  'n/a',
  'none',
  'not applicable',
  'not specified',
  'system manufacturer',
  'system product name',
  'to be filled by o.e.m.',
  'undefined',
  'unknown',
  'virtual machine product name',
]);

/**
 * The facts, and only those: what is not known is left out, and so is what changes by itself (load, free memory,
 * current speeds, uptime), since each change costs a full report.
 */
export function selectFacts(reading: MachineReading): Record<string, string> {
  const { cpu, memory, system, board, files } = reading;
  // Without lscpu, `systeminformation` makes up one socket with as many cores as there are threads.
  const lscpu = [cpu.vendor, cpu.family, cpu.model, cpu.stepping].some((text) => text !== '');
  const hypervisor = hypervisorOf(files) ?? text(system.virtualHost);
  const facts: Record<string, string | undefined> = {
    architecture: text(reading.architecture),
    kernel: text(reading.kernel),
    'os-distribution': osRelease(files.osRelease, 'ID'),
    'os-version': osRelease(files.osRelease, 'VERSION_ID'),
    'cpu-vendor': text(cpu.vendor) ?? (text(cpu.brand) && text(cpu.manufacturer)),
    // A name of one word, as Arm processors have, is taken for the manufacturer.
    'cpu-brand': text(cpu.brand) ?? text(cpu.manufacturer),
    'cpu-family': x86('cpu family', files.cpuinfo) ?? text(cpu.family),
    'cpu-model': x86('model', files.cpuinfo) ?? text(cpu.model),
    'cpu-stepping': x86('stepping', files.cpuinfo) ?? text(cpu.stepping),
    'cpu-threads': amount(cpu.cores),
    'cpu-cores': amount(files.cores.length) ?? (lscpu ? amount(cpu.physicalCores) : undefined),
    'cpu-sockets': amount(files.sockets.length) ?? (lscpu ? amount(cpu.processors) : undefined),
    'cpu-max-mhz': amount(Math.round(cpu.speedMax * 1000)),
    'memory-total-bytes': amount(memory.total),
    'system-vendor': text(files.systemVendor) ?? text(system.manufacturer),
    'system-model': text(files.systemModel) ?? text(system.model),
    'board-vendor': text(files.boardVendor) ?? text(board.manufacturer),
    'board-model': text(files.boardModel) ?? text(board.model),
    virtual: system.virtual || hypervisor !== undefined ? 'true' : text(isGuest(files.cpuinfo)?.toString()),
    hypervisor,
  };
  return Object.fromEntries(Object.entries(facts).filter((fact): fact is [string, string] => fact[1] !== undefined));
}

function text(value: string | undefined): string | undefined {
  const line = (value ?? '').replace(/[\p{Cc}\s]+/gu, ' ').trim();
  if (line === '' || PLACEHOLDERS.has(line.toLowerCase())) return undefined;
  return line.slice(0, FACT_LIMITS.value).toWellFormed();
}

function amount(value: number): string | undefined {
  return Number.isSafeInteger(value) && value > 0 ? String(value) : undefined;
}

/** A value of an os-release file, https://www.freedesktop.org/software/systemd/man/latest/os-release.html. */
function osRelease(file: string, key: 'ID' | 'VERSION_ID'): string | undefined {
  return text(new RegExp(`^${key}=(["']?)(.*)\\1\\s*$`, 'm').exec(file)?.[2]);
}

/** A line of /proc/cpuinfo on x86; some of the names have another meaning, or none, elsewhere. */
function x86(name: 'cpu family' | 'model' | 'stepping', cpuinfo: string): string | undefined {
  if (!/^cpu family\s*:/m.test(cpuinfo)) return undefined;
  return text(new RegExp(`^${name}\\s*:(.*)$`, 'm').exec(cpuinfo)?.[1]);
}
