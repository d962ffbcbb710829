import { expect, test } from 'vitest';
import { takeFeatures } from './parse-features.ts';

const NOW = Date.parse('2026-05-01T12:00:00Z');

function read(...files: string[]) {
  const sets = { label: new Map<string, string>(), feature: new Map<string, string>() };
  for (const file of files) takeFeatures(file, NOW, sets);
  return { label: Object.fromEntries(sets.label), feature: Object.fromEntries(sets.feature) };
}

const both = (all: Record<string, string>) => ({ label: all, feature: all });

test('a line is a key, which is true, or a key with a value', () => {
  expect(read('# what there is\n\n a \nb=\nc=d=e\r\n#x\nvendor.io/f=1')).toEqual(
    both({ a: 'true', b: '', c: 'd=e', 'vendor.io/f': '1' }),
  );
});

test('of lines and files that say something else of a key, the last one counts', () => {
  expect(read('a=1\na=2\nb=1', 'b=2\nc=1')).toEqual(both({ a: '2', b: '2', c: '1' }));
});

test('a line may be kept from the labels or from the features, and takes back what its file said before', () => {
  const { label, feature } = read(
    'a=0',
    '# +no-label\na=1\nb=1\n# +no-feature\n# another\nb=2\n# +no-label\n# +no-feature\nc=1',
  );
  expect(label).toEqual({ a: '0', b: '2' });
  expect(feature).toEqual({ a: '1' });
});

test('what has expired is not there', () => {
  const at = (time: string) => `# +expiry-time=${time}\n`;
  const file = `a\n${at('2026-05-01T11:59:59Z')}b\n${at('2026-05-01T14:00:01+02:00')}c\n${at('2026-05-01T13:00:00+02:00')}d\n`;
  expect(read(file)).toEqual(both({ a: 'true', c: 'true' }));
});

test('what expires at this moment is still there', () => {
  expect(read('# +expiry-time=2026-05-01T12:00:00Z\na\n')).toEqual(both({ a: 'true' }));
  expect(read('# +expiry-time=2026-05-01T11:59:59.999Z\na\n')).toEqual(both({}));
});

test('a time that is none changes nothing', () => {
  const times = ['soon', '2026-05-01', '2026-13-01T00:00:00Z', ''].map((time) => `# +expiry-time=${time}\n`);
  expect(read(`${times.join('')}# +expiry-time\n# +what\na\n`)).toEqual(both({ a: 'true' }));
});

test('keys of every object are keys like others', () => {
  expect(read('constructor=1\n__proto__=2').feature).toHaveProperty('constructor', '1');
});
