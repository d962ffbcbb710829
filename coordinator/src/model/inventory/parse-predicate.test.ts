import { expect, test } from 'vitest';
import { PredicateProblem, parsePredicate, quoted, Tokens } from './parse-predicate.ts';

const read = (text: string) => parsePredicate(new Tokens(text));
const SOME = { op: '>', bound: [0] };

/** What is wrong with a text, after the column where it is. */
function problemOf(parse: () => unknown): string {
  try {
    parse();
    return 'nothing';
  } catch (err) {
    if (!(err instanceof PredicateProblem)) throw err;
    return `${err.column}: ${err.message}`;
  }
}

test.each([
  ['tier', { kind: 'label', key: 'tier' }],
  ['example.com/tier = a', { kind: 'label', key: 'example.com/tier', test: { values: ['a'] } }],
  ['tier =', { kind: 'label', key: 'tier', test: { values: [''] } }],
  ['tier in (a, b*,)', { kind: 'label', key: 'tier', test: { values: ['a', 'b*', ''] } }],
  ['tier in', { kind: 'label', key: 'tier' }],
  ['tier >= -3', { kind: 'label', key: 'tier', test: { op: '>=', bound: [-3] } }],
  ['pci-**', { kind: 'label', key: 'pci-*' }],
  ['fact:kernel', { kind: 'fact', name: 'kernel' }],
  ['fact:kernel < 6.8', { kind: 'fact', name: 'kernel', test: { op: '<', bound: [6, 8] } }],
  ['fact:kernel = 6.*', { kind: 'fact', name: 'kernel', test: { values: ['6.*'] } }],
  ['resource:memory', { kind: 'resource', name: 'memory', test: SOME }],
  ['resource:memory > 1Ki', { kind: 'resource', name: 'memory', test: { op: '>', bound: [1024] } }],
  ['count:edgetpu', { kind: 'count', name: 'edgetpu', test: SOME }],
  ['count: edgetpu = 2', { kind: 'count', name: 'edgetpu', test: { op: '=', bound: [2] } }],
  ['pci:10DE:1eb8@0302 >= 2', { kind: 'count', name: 'pci:10de:1eb8@0302', test: { op: '>=', bound: [2] } }],
  ['usb: 1a6e', { kind: 'count', name: 'usb:1a6e', test: SOME }],
  ['driver:pci:8086 = ice', { kind: 'driver', name: 'pci:8086', test: { values: ['ice'] } }],
  ['dra:gpu.nvidia.com', { kind: 'dra', name: 'gpu.nvidia.com', test: SOME }],
  ['dra:gpu.nvidia.com <= 8', { kind: 'dra', name: 'gpu.nvidia.com', test: { op: '<=', bound: [8] } }],
  ['driver:edgetpu', { kind: 'driver', name: 'edgetpu' }],
  ['driver:edgetpu in (apex)', { kind: 'driver', name: 'edgetpu', test: { values: ['apex'] } }],
  ['nfd:pci.device', { kind: 'nfd', name: 'pci.device', test: SOME }],
  ['nfd:pci.device >= 2', { kind: 'nfd', name: 'pci.device', test: { op: '>=', bound: [2] } }],
  ['nfd:cpu.model.family', { kind: 'nfd', name: 'cpu.model.family' }],
  ['nfd:cpu.model.family = 6', { kind: 'nfd', name: 'cpu.model.family', test: { values: ['6'] } }],
  ['module:apex', { kind: 'module', name: 'apex' }],
  ['cpu:avx2', { kind: 'cpu', name: 'avx2' }],
  ['declared:RestartAllContainersOnContainerExits', { kind: 'declared', name: 'RestartAllContainersOnContainerExits' }],
  ['declared: Feature1/SubFeature', { kind: 'declared', name: 'Feature1/SubFeature' }],
])('%s is read', (text, predicate) => {
  expect(read(text)).toEqual(predicate);
});

test.each([
  ['', '1: "" is not a label key, nor a pattern that one could match'],
  ['= a', '1: "=" is not a label key, nor a pattern that one could match'],
  ['-a', '1: "-a" is not a label key, nor a pattern that one could match'],
  ['resource:a/b/c', '10: "a/b/c" is not the name of a resource'],
  ['resource: a/b/c', '11: "a/b/c" is not the name of a resource'],
  ['dra:a/b/c', '5: "a/b/c" is not the name of a DRA driver'],
  ['nfd:cpu', '5: "cpu" is not the name of a feature of NFD'],
  ['count:egdetpu', '7: "egdetpu" is not a device that rollcall knows'],
  ['pci:10d', '5: "pci:10d" is not pci:VENDOR[:DEVICE][@CLASS] or usb:VENDOR[:PRODUCT] with 4 hexadecimal digits each'],
  [
    'pci:10de:1eb8:1',
    '5: "pci:10de:1eb8:1" is not pci:VENDOR[:DEVICE][@CLASS] or usb:VENDOR[:PRODUCT] with 4 hexadecimal digits each',
  ],
  [
    'usb:1a6e@fe00',
    '5: "usb:1a6e@fe00" is not pci:VENDOR[:DEVICE][@CLASS] or usb:VENDOR[:PRODUCT] with 4 hexadecimal digits each',
  ],
  [
    'count:pci:*',
    '7: "pci:*" is not pci:VENDOR[:DEVICE][@CLASS] or usb:VENDOR[:PRODUCT] with 4 hexadecimal digits each',
  ],
  ['driver:', '8: "" is not a device that rollcall knows'],
  ['fact:Kernel', '6: "Kernel" is not the name of a fact'],
  ['module:-a', '8: "-a" is not the name of a kernel module'],
  ['declared:', '10: "" is not the name of a declared feature'],
  ['declared:A*', '10: "A*" is not the name of a declared feature'],
  ['declared:A/B/C', '10: "A/B/C" is not the name of a declared feature'],
  ['declared:1A', '10: "1A" is not the name of a declared feature'],
  ['cpu:-a', '5: "-a" is not the name of a flag of processors'],
  ['tier >= a', '9: "a" is not a number that fits here'],
  ['tier >= =', '9: "=" is not a number that fits here'],
  ['tier >=', '8: "" is not a number that fits here'],
  ['resource:memory > 1x', '19: "1x" is not a number that fits here'],
  ['tier in (a b)', '12: "b" is not ")" or ","'],
  ['tier in (a', '11: "" is not ")" or ","'],
  ['tier = -a', '8: "-a" is not a label value, nor a pattern that one could match'],
])('%j is refused with its column', (text, problem) => {
  expect(problemOf(() => read(text))).toBe(problem);
});

test('the name of a declared feature may have 253 characters', () => {
  expect(read(`declared:${'A'.repeat(253)}`)).toEqual({ kind: 'declared', name: 'A'.repeat(253) });
  expect(problemOf(() => read(`declared:${'A'.repeat(254)}`))).toContain('is not the name of a declared feature');
});

test('a list may have 64 values', () => {
  const list = (length: number) => `tier in (${Array.from({ length }, (_, index) => `v${index}`).join()})`;
  expect(problemOf(() => read(list(64)))).toBe('nothing');
  expect(problemOf(() => read(list(65)))).toBe('6: there are more than 64 values here');
});

test('of a long text the first 80 characters are repeated', () => {
  expect(quoted('a'.repeat(80))).toBe(`"${'a'.repeat(80)}"`);
  expect(quoted('a'.repeat(81))).toBe(`"${'a'.repeat(80)}…"`);
});
