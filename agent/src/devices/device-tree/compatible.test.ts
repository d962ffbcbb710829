import { describe, expect, test } from 'vitest';
import { FILE_BYTES_MAX } from '../host-files.ts';
import { compatibleDevices, isCounted, parseCompatible } from './compatible.ts';

test.each(['cpu', 'gpu', 'cpu@0', 'cpu@100', 'gpu@38000000', 'cpu3@300'])('counts the node %s', (name) => {
  expect(isCounted(name)).toBe(true);
});

test.each(['cpus', 'cpu-map', 'cpu0', 'vpu@1', 'my-gpu@1', 'gpu-opp-table'])('does not count the node %s', (name) => {
  expect(isCounted(name)).toBe(false);
});

test('counts further nodes by their names, with or without a number and an address', () => {
  const further = ['vpu', 'sata'];
  const all = ['vpu', 'vpu@1', 'vpu0@1', 'sata@fd0c0000', 'vpu0', 'vpus@1', 'my-vpu@1'];
  expect(all.filter((name) => isCounted(name, further))).toEqual(['vpu', 'vpu@1', 'vpu0@1', 'sata@fd0c0000']);
});

describe('parseCompatible', () => {
  test('splits at NUL, with or without one at the end', () => {
    expect(parseCompatible('fsl,imx8mq-phanbell\0fsl,imx8mq\0')).toEqual(['fsl,imx8mq-phanbell', 'fsl,imx8mq']);
    expect(parseCompatible('arm,cortex-a53\n')).toEqual(['arm,cortex-a53']);
    expect(parseCompatible('')).toEqual([]);
  });

  test('leaves out what is no text, and a string that was cut off', () => {
    expect(parseCompatible('a\0\u0001\0\uFFFD\0b\0')).toEqual(['a', 'b']);
    expect(parseCompatible(`${'abc\0'.repeat(1023)}cut `)).toEqual(Array(1023).fill('abc'));
    expect(1023 * 4 + 4).toBe(FILE_BYTES_MAX);
  });
});

test('says how often each string stands in the tree', () => {
  expect(compatibleDevices(['a', 'b', 'a', 'a'])).toEqual([
    { bus: 'device-tree', attributes: { compatible: 'a', count: '3' }, count: 3 },
    { bus: 'device-tree', attributes: { compatible: 'b', count: '1' }, count: 1 },
  ]);
});
