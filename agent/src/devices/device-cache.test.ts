import type { DeviceReport } from '@rollcall/common/report.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { DeviceCache, type DeviceReader } from './device-cache.ts';

/** What is under each name: a signature, and what a read finds. */
let bus: Map<string, { signature: string; found: readonly DeviceReport[] | undefined }>;
let read: string[];
let cache: DeviceCache;

const reader: DeviceReader = {
  signature: (name) => bus.get(name)?.signature,
  read(name) {
    read.push(name);
    return bus.get(name)?.found;
  },
};

function device(id: string): DeviceReport {
  return { bus: 'pci', attributes: { id } };
}

function put(name: string, signature: string, id: string | undefined) {
  bus.set(name, { signature, found: id === undefined ? undefined : [device(id)] });
}

function refresh(extra: readonly string[] = []) {
  read = [];
  const { devices, ...rest } = cache.refresh([...bus.keys(), ...extra], reader);
  return { ids: devices.map(({ attributes }) => attributes['id']), ...rest };
}

beforeEach(() => {
  bus = new Map();
  cache = new DeviceCache();
});

describe('DeviceCache', () => {
  test('reads a device until two reads agree, and then no more', () => {
    put('a', '1', 'first');
    expect(refresh()).toEqual({ ids: ['first'], settling: true, leftOut: 0 });
    expect(refresh()).toEqual({ ids: ['first'], settling: false, leftOut: 0 });
    expect(read).toEqual(['a']);
    const before = cache.refresh(['a'], reader);
    refresh();
    expect(read).toEqual([]);
    expect(cache.refresh(['a'], reader)).toBe(before);
  });

  test('knows of nothing on an empty bus, and misses nothing', () => {
    expect(refresh()).toEqual({ ids: [], settling: false, leftOut: 0 });
  });

  test('reads only what has another signature', () => {
    put('a', '1', 'first');
    put('b', '1', 'second');
    refresh();
    refresh();
    put('b', '2', 'third');
    expect(refresh().ids).toEqual(['first', 'third']);
    expect(read).toEqual(['b']);
  });

  test('sees what an attribute that came late makes of a device', () => {
    put('a', '1', undefined);
    expect(refresh().ids).toEqual([]);
    put('a', '1', 'half');
    expect(refresh().ids).toEqual(['half']);
    put('a', '1', 'whole');
    expect(refresh()).toMatchObject({ ids: ['whole'], settling: true });
    expect(refresh()).toMatchObject({ ids: ['whole'], settling: false });
  });

  test('forgets what is no longer there', () => {
    put('a', '1', 'first');
    put('b', '1', 'second');
    refresh();
    refresh();
    bus.delete('a');
    expect(refresh(['a']).ids).toEqual(['second']);
    bus.delete('b');
    expect(refresh().ids).toEqual([]);
  });

  test('does not take what changed while it was read', () => {
    put('a', '1', 'mixed');
    const changing: DeviceReader = {
      ...reader,
      read(name) {
        put('a', '2', 'new');
        return reader.read(name)?.length ? [device('mixed')] : undefined;
      },
    };
    expect(cache.refresh(['a'], changing)).toMatchObject({ devices: [], settling: true });
    expect(refresh().ids).toEqual(['new']);
  });

  test('does not hurry for ever over what cannot be read, but goes on trying', () => {
    put('a', '1', undefined);
    for (let reads = 1; reads < 10; reads += 1) expect(refresh()).toEqual({ ids: [], settling: true, leftOut: 0 });
    expect(refresh()).toEqual({ ids: [], settling: false, leftOut: 1 });
    const before = cache.refresh(['a'], reader);
    expect(cache.refresh(['a'], reader)).toBe(before);
    put('a', '1', 'late');
    expect(refresh()).toEqual({ ids: ['late'], settling: false, leftOut: 0 });
    refresh();
    refresh();
    expect(read).toEqual([]);
  });

  test('compares many devices in turns, but sees at once which came and went', () => {
    for (let index = 0; index < 150; index += 1) put(`d${index}`, '1', String(index));
    refresh();
    refresh();
    refresh();
    let asked = 0;
    const counting: DeviceReader = {
      ...reader,
      signature(name) {
        asked += 1;
        return reader.signature(name);
      },
    };
    cache.refresh([...bus.keys()], counting);
    expect(asked).toBe(64);
    put('d70', '2', 'changed');
    const seen = [refresh(), refresh(), refresh()].map(({ ids }) => ids.includes('changed'));
    expect(seen).toContain(true);
    bus.delete('d149');
    put('new', '1', 'new');
    const { ids } = refresh();
    expect(ids).toContain('new');
    expect(ids).not.toContain('149');
    expect(ids).toHaveLength(150);
  });

  test('lets no more than 64 devices that are urgent go before their turn', () => {
    for (let index = 0; index < 300; index += 1) put(`d${index}`, '1', String(index));
    const urgent = new Set(Array.from({ length: 65 }, (_, index) => String(index)));
    const hurrying: DeviceReader = { ...reader, isUrgent: ({ attributes }) => urgent.has(attributes['id'] ?? '') };
    const names = [...bus.keys()];
    // It is the turn of the fourth 64 now.
    for (let reads = 0; reads < 3; reads += 1) cache.refresh(names, hurrying);
    put('d63', '2', 'the last in time');
    put('d64', '2', 'the first too late');
    const { devices } = cache.refresh(names, hurrying);
    const changed = devices.filter(({ attributes }) => Number.isNaN(Number(attributes['id'])));
    expect(changed).toEqual([device('the last in time')]);
  });

  test('looks at so many names and no more, always the same', () => {
    for (let index = 0; index < 5000; index += 1) put(`d${index}`, '1', String(index));
    const first = refresh();
    expect(first).toMatchObject({ leftOut: 904 });
    bus = new Map([...bus].reverse());
    expect(refresh().ids.toSorted()).toEqual(first.ids.toSorted());
  });

  test('keeps what it knew when a read fails', () => {
    put('a', '1', 'first');
    refresh();
    refresh();
    put('b', '1', 'second');
    const failing: DeviceReader = {
      ...reader,
      read() {
        throw new Error('no file left');
      },
    };
    expect(() => cache.refresh([...bus.keys()], failing)).toThrow('no file left');
    expect(refresh().ids).toEqual(['first', 'second']);
    expect(read).toEqual(['b']);
  });
});
