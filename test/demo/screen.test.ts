import { expect, test } from 'vitest';
import { plainScreen, terminalScreen } from './screen.ts';

const rows = [{ node: 'node-1', labels: { 'ws-daemon': true, 'registry-facade': false }, note: 'answered 500' }];

test('a terminal shows the table below the log, and draws it anew in the same place', () => {
  const written: string[] = [];
  const screen = terminalScreen({ write: (text) => written.push(text), columns: 120 });
  screen.table(rows, 'keys');
  const height = (written.at(-1)?.split('\n').length ?? 0) - 1;
  screen.log('something happened');
  expect(written.at(-1)).toContain(`\u001b[${height}A`);
  expect(written.at(-1)).toMatch(/something happened[\s\S]*NODE[\s\S]*NOT READY[\s\S]*answered 500[\s\S]*keys/);
});

test('without a terminal there are plain lines, without control characters', () => {
  const written: string[] = [];
  const screen = plainScreen({ write: (text) => written.push(text) });
  screen.table(rows, 'keys');
  screen.log('something happened');
  expect(written.join('')).toMatch(/^\d\d:\d\d:\d\d {2}something happened\n$/);
});

test('a terminal without colors, as with NO_COLOR, gets none', () => {
  const written: string[] = [];
  const screen = terminalScreen({ write: (text) => written.push(text), columns: 120, hasColors: () => false });
  screen.log('started');
  screen.table([{ node: 'a', labels: { csi: true, cni: false }, note: 'x' }], 'footer');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colors begin with one.
  expect(written.join('')).not.toMatch(/\u001b\[\d+m/);
});
