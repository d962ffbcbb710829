import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EventParser } from './event-parser.ts';

const STREAM = [
  'retry: 1000',
  'event: replica\ndata: {"a":1}\n',
  ':\n',
  'id: r.1\nevent: node\ndata: {"name":"a: b"}\n',
  'data: one\ndata:two\n',
  'id: r.2\r\nevent: node-gone\r\ndata: {}\r\n\r',
].join('\n');

const EVENTS = [
  { name: 'replica', data: '{"a":1}', id: undefined },
  { name: 'node', data: '{"name":"a: b"}', id: 'r.1' },
  { name: 'message', data: 'one\ntwo', id: undefined },
  { name: 'node-gone', data: '{}', id: 'r.2' },
];

test('events are read in whatever pieces they come', () => {
  expect(new EventParser().take(`${STREAM}\n`)).toEqual(EVENTS);
  fc.assert(
    fc.property(fc.array(fc.nat(STREAM.length)), (cuts) => {
      const parser = new EventParser();
      const places = [0, ...cuts.sort((a, b) => a - b), STREAM.length + 1];
      const pieces = places.slice(1).map((end, index) => `${STREAM}\n`.slice(places[index], end));
      expect(pieces.flatMap((piece) => parser.take(piece))).toEqual(EVENTS);
    }),
  );
});

test('an event that is not complete is none', () => {
  const parser = new EventParser();
  expect(parser.take('event: node\ndata: {}\n')).toEqual([]);
  expect(parser.take('\n')).toHaveLength(1);
});

test('a line without a colon is a field without a value', () => {
  expect(new EventParser().take('data\n\n')).toEqual([{ name: 'message', data: '', id: undefined }]);
});

test('of a field that comes twice the last is taken, but of data all lines', () => {
  expect(new EventParser().take('event: a\nevent: b\ndata: 1\ndata:\ndata: 2\nid: x\nid: y\n\n')).toEqual([
    { name: 'b', data: '1\n\n2', id: 'y' },
  ]);
});
