import { describe, expect, test } from 'vitest';
import { EventLog } from './event-log.ts';

function logOf(eventsMax: number, count: number): EventLog {
  const log = new EventLog(eventsMax);
  for (let n = 1; n <= count; n += 1) log.add({ name: 'node', data: String(n) });
  return log;
}

/** The events that a reader at this cursor receives. */
function after(log: EventLog, cursor: number): string[] {
  const told: string[] = [];
  for (let at = cursor, event = log.at(at); event; event = log.at(++at)) told.push(event.data);
  return told;
}

describe('a log', () => {
  test('tells a reader what came after the event that it has seen', () => {
    const log = logOf(10, 2);
    const id = log.lastId;
    expect(log.cursorAfter(id)).toBe(log.end);
    log.add({ name: 'node', data: '3' });
    log.add({ name: 'node', data: '4' });
    expect(after(log, log.cursorAfter(id) ?? 0)).toEqual(['3', '4']);
    expect(log.at(log.end - 1)).toEqual({ name: 'node', data: '4', id: log.lastId });
    expect(log.at(log.end)).toBeUndefined();
  });

  test('that is empty is known from its beginning', () => {
    const log = logOf(3, 0);
    const cursor = log.cursorAfter(log.lastId);
    expect(cursor).toBe(log.end);
    log.add({ name: 'node', data: '1' });
    expect(after(log, cursor ?? 0)).toEqual(['1']);
  });

  test('keeps as many events as it may, and knows no reader that missed one', () => {
    const log = logOf(3, 5);
    const [run] = log.lastId.split('.');
    expect([1, 2, 3, 4, 5, 6].map((n) => log.cursorAfter(`${run}.${n}`) !== undefined)).toEqual([
      ...[false, true, true, true, true, false],
    ]);
    expect(after(log, log.cursorAfter(`${run}.2`) ?? 0)).toEqual(['3', '4', '5']);
    expect(log.at(2)).toBeUndefined();
  });

  test('knows no event of another run, nor what is no id', () => {
    const log = logOf(10, 3);
    const [run] = log.lastId.split('.');
    for (const id of ['', 'abc.1', `${run}.`, `${run}.x`, `x${run}.1`, `${run}.1x`, `${run}.${'1'.repeat(16)}`]) {
      expect(log.cursorAfter(id)).toBeUndefined();
    }
  });

  test('that begins anew knows nothing of what was', () => {
    const log = logOf(10, 3);
    const { lastId: before, end } = log;
    log.restart();
    expect(log.cursorAfter(before)).toBeUndefined();
    expect(log.isKnown(end - 1)).toBe(false);
    expect(log.at(end - 1)).toBeUndefined();
    expect(log.cursorAfter(log.lastId)).toBe(log.end);
    log.add({ name: 'node', data: 'new' });
    expect(after(log, end)).toEqual(['new']);
  });
});
