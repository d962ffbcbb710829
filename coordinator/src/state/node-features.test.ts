import { describe, expect, test } from 'vitest';
import type { NodeFeature } from '../kube/objects.ts';
import type { Features } from '../model/inventory/feature-name.ts';
import { mergedFeatures, type ObservedNodeFeature, observeNodeFeature } from './node-features.ts';

type Listed = NonNullable<NonNullable<NodeFeature['spec']>['features']>;

function nodeFeature(features?: Listed): NodeFeature {
  const labels = { 'nfd.node.kubernetes.io/node-name': 'n' };
  const metadata = { name: 'n', namespace: 'nfd', uid: 'u', resourceVersion: '1', labels };
  return features ? { metadata, spec: { features } } : { metadata, spec: {} };
}

describe('of a NodeFeature', () => {
  const object = nodeFeature({
    flags: { 'kernel.loadedmodule': { elements: { dummy: {}, 'nf.tables': {} } } },
    attributes: {
      'cpu.model': { elements: { vendor_id: 'Intel', family: '6' } },
      'local.feature': { elements: { 'example.com/slots': '4', empty: '', long: 'x'.repeat(100_000) } },
    },
    instances: { 'pci.device': { elements: [{}, {}] }, 'usb.device': { elements: [] } },
  });
  const told = (...names: string[]): Features => observeNodeFeature(object, names).features;

  test('what rules name is kept, and nothing else', () => {
    expect(observeNodeFeature(object, ['cpu.model.vendor_id'])).toEqual({
      ...{ uid: 'u', namespace: 'nfd', name: 'n', node: 'n' },
      features: { 'cpu.model.vendor_id': 'Intel' },
      writtenMs: Number.POSITIVE_INFINITY,
    });
  });

  test('there are attributes, flags, and numbers of instances', () => {
    const there = { 'kernel.loadedmodule.dummy': true, 'kernel.loadedmodule.nf.tables': true, 'pci.device': 2 };
    const empty = { 'usb.device': 0, 'local.feature.empty': '', 'local.feature.example.com/slots': '4' };
    expect(told(...Object.keys({ ...there, ...empty }))).toEqual({ ...there, ...empty });
  });

  test('an element that a feature lacks is not there, and of a feature that is not listed nothing is known', () => {
    const lacking = ['kernel.loadedmodule.apex', 'cpu.model.id', 'cpu.model.constructor'];
    const unlisted = ['cpu.cpuid.AVX2', 'storage.block', 'constructor.name.length', 'pci.device.vendor'];
    expect(told(...lacking, ...unlisted)).toEqual(Object.fromEntries(lacking.map((name) => [name, null])));
    expect(observeNodeFeature(nodeFeature(), lacking).features).toEqual({});
  });

  test('a text is kept as far as a rule can ask for it', () => {
    expect(told('local.feature.long')).toEqual({ 'local.feature.long': 'x'.repeat(128) });
  });

  test('one without the label is of no node', () => {
    const { spec } = object;
    const metadata = { name: 'n', uid: 'u', resourceVersion: '1' };
    expect(observeNodeFeature({ metadata, ...(spec ? { spec } : {}) }, ['pci.device']).node).toBe('');
  });
});

describe('several NodeFeatures of a node', () => {
  const NODE = { createdAtMs: 1000 };
  const named = (name: string, features: Features, namespace = 'nfd'): ObservedNodeFeature => {
    return { uid: name, namespace, name, node: 'n', features, writtenMs: NODE.createdAtMs };
  };

  test('are merged in the order of their names, after the one of the worker', () => {
    const worker = named('n', {
      'cpu.model.id': '1',
      'cpu.model.family': '6',
      'pci.device': 2,
      'a.b.c': 'x',
      'g.h.i': '1',
    });
    const a = named('a', { 'cpu.model.id': '2', 'pci.device': 1, 'a.b.c': null, 'd.e.f': null, 'g.h.i': '2' });
    const z = named('z', { 'cpu.model.id': '3', 'd.e.f': true });
    const merged = {
      ...{ 'cpu.model.id': '3', 'cpu.model.family': '6', 'pci.device': 3 },
      ...{ 'a.b.c': 'x', 'd.e.f': true, 'g.h.i': '2' },
    };
    expect(mergedFeatures([z, a, worker], NODE)).toEqual(merged);
    expect(mergedFeatures([worker, z, a], NODE)).toEqual(merged);
  });

  test('of the same name come in the order of their namespaces', () => {
    const [one, two] = [named('a', { 'a.b.c': '1' }, 'one'), named('a', { 'a.b.c': '2' }, 'two')];
    expect([mergedFeatures([one, two], NODE), mergedFeatures([two, one], NODE)]).toEqual([two.features, two.features]);
  });

  test('count unless they were last written before the Node was created', () => {
    const old = { ...named('a', { 'a.b.c': '1' }), writtenMs: NODE.createdAtMs - 1 };
    expect(mergedFeatures([old, named('b', { 'd.e.f': '2' })], NODE)).toEqual({ 'd.e.f': '2' });
  });

  test('may be none', () => {
    expect(mergedFeatures([], NODE)).toEqual({});
  });
});
