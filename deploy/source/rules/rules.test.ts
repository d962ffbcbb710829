import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ACCELERATORS, identityOf } from '@rollcall/common/accelerators.ts';
import { isLabelKey } from '@rollcall/common/label-syntax.ts';
import { parseRuleFile } from '@rollcall/coordinator/decide/rules/parse-rule-file.ts';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const folder = path.resolve(import.meta.dirname, '../../../deploy/rules');
const shipped = new Map(
  readdirSync(path.join(folder, 'accelerators')).map((name) => [
    name,
    readFileSync(path.join(folder, 'accelerators', name), 'utf8'),
  ]),
);

const parsed = new Map([...shipped].map(([name, content]) => [name, parseRuleFile(content)]));

function keysOf(name: string): string[] {
  return (parsed.get(name)?.conditions ?? []).map(({ text }) => text);
}

describe('the shipped rule files', () => {
  test('are one for each identity, and no other', () => {
    expect([...shipped.keys()].toSorted()).toEqual(ACCELERATORS.map(({ name }) => name).toSorted());
  });

  test('are understood by the coordinator, line by line', () => {
    for (const name of shipped.keys()) expect(parsed.get(name)?.problems).toEqual([]);
  });

  test('give labels whose keys the API server takes', () => {
    expect([...shipped.keys()].filter((name) => !isLabelKey(`accelerators/${name}`))).toEqual([]);
  });

  test('list the key of their identity first', () => {
    for (const name of shipped.keys()) expect(keysOf(name)[0]).toBe(`device.rollcall.dev/${name}`);
  });

  test('hold nothing but keys that the API server takes, each once', () => {
    for (const name of shipped.keys()) {
      const keys = keysOf(name);
      expect(keys.filter((key) => !isLabelKey(key.replace('/usb-*_', '/usb-ff_')))).toEqual([]);
      expect(new Set(keys).size).toBe(keys.length);
    }
  });

  test('share keys only where one accelerator is a kind of the other', () => {
    const included = new Set(
      ACCELERATORS.flatMap(({ includes = [] }) => includes.map((name) => `device.rollcall.dev/${name}`)),
    );
    const all = [...shipped.keys()].flatMap(keysOf).filter((key) => !included.has(key));
    expect(all.filter((key, index) => all.indexOf(key) !== index)).toEqual([]);
  });

  test('never follow from a label that they give, which would hold itself', () => {
    expect([...shipped.keys()].flatMap(keysOf).filter((key) => key.startsWith('accelerators/'))).toEqual([]);
  });

  test('know a Coral by all that shows it, and its resource when that is asked for', () => {
    expect(keysOf('edgetpu')).toEqual([
      'device.rollcall.dev/edgetpu',
      'feature.node.kubernetes.io/usb-fe_1a6e_089a.present',
      'feature.node.kubernetes.io/usb-ff_18d1_9302.present',
      'feature.node.kubernetes.io/pci-0880_1ac1.present',
      'beta.devicetree.org/fsl-imx8mq-phanbell',
      'beta.devicetree.org/google-imx8mq-phanbell',
    ]);
    expect(shipped.get('edgetpu')).toMatch(/^# resource:kkohtaka\.org\/edgetpu$/m);
  });

  test('know a Myriad X before and after it has booted, then whatever its class', () => {
    expect(keysOf('ncs2')).toEqual([
      'device.rollcall.dev/ncs2',
      'feature.node.kubernetes.io/usb-ff_03e7_2485.present',
      'feature.node.kubernetes.io/usb-*_03e7_f63b.present',
    ]);
  });

  test('name a class of PCI only where every device of it is the accelerator, as far as the table goes', () => {
    for (const name of shipped.keys()) {
      for (const key of keysOf(name)) {
        const [, code, vendor] = /\/pci-([0-9a-f]{4})_([0-9a-f]{4})\.present$/.exec(key) ?? [];
        if (code === undefined || vendor === undefined) continue;
        const other = identityOf({ bus: 'pci', attributes: { class: code, vendor, device: 'none' } });
        expect([undefined, name]).toContain(other);
      }
    }
  });

  test('stand in the ConfigMap as they are, under keys that it takes', () => {
    const { data } = parse(readFileSync(path.join(folder, 'configmap.yaml'), 'utf8')) as { data: object };
    expect(data).toEqual(Object.fromEntries(shipped));
    expect(Object.keys(data).filter((key) => !/^[-._a-zA-Z0-9]+$/.test(key))).toEqual([]);
  });
});
