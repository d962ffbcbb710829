import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { BodyBudget, readBody } from './body.ts';
import type { ExtenderResponse } from './response.ts';

test('a budget is used up, and given back', () => {
  const budget = new BodyBudget({ bytesMax: 10, totalMax: 15 });
  expect(budget.bytesMax).toBe(10);
  expect([budget.take(10), budget.take(6), budget.take(5), budget.take(1), budget.take(0)]).toEqual([
    true,
    false,
    true,
    false,
    true,
  ]);
  budget.give(5);
  expect([budget.take(6), budget.take(5)]).toEqual([false, true]);
});

describe('a body', () => {
  const JSON_TYPE = { 'content-type': 'application/json' };

  /** A question whose body is written to `body`, with as much as is left of a budget of 10 bytes each, 15 together. */
  function asked(headers: Record<string, string> = JSON_TYPE, signal = new AbortController().signal) {
    const budget = new BodyBudget({ bytesMax: 10, totalMax: 15 });
    const body = new PassThrough();
    const request = Object.assign(body, { headers }) as unknown as IncomingMessage;
    let close = () => {};
    const read = readBody(
      {
        ...{ verb: 'filter', path: '/', request, signal },
        onClosed: (callback) => {
          close = callback;
        },
      },
      budget,
    );
    const result = async () => {
      const found = await read;
      return Buffer.isBuffer(found) ? found.toString() : (found as ExtenderResponse).status;
    };
    return { budget, body, result, close: () => close() };
  }

  test('may be as large as is allowed, and is given back when the question is closed', async () => {
    const { budget, body, result, close } = asked();
    body.write('01234');
    body.end('56789');
    expect(await result()).toBe('0123456789');
    expect([budget.take(6), budget.take(5)]).toEqual([false, true]);
    budget.give(5);
    close();
    expect(budget.take(15)).toBe(true);
  });

  test('of one byte more is refused, also where that is only said', async () => {
    const { body, result } = asked();
    body.write('01234');
    body.write('567890');
    expect(await result()).toBe(413);
    expect(await asked({ ...JSON_TYPE, 'content-length': '11' }).result()).toBe(413);
    const said = asked({ ...JSON_TYPE, 'content-length': '10' });
    said.body.end('0123456789');
    expect(await said.result()).toBe('0123456789');
  });

  test('is refused while others take up the budget, and takes no more than has come', async () => {
    const { budget, body, result, close } = asked();
    budget.take(8);
    body.write('0123456');
    body.write('7');
    expect(await result()).toBe(503);
    close();
    expect([budget.take(8), budget.take(7)]).toEqual([false, true]);
  });

  test('is waited for until time is up, and not at all where it is up already', async () => {
    const controller = new AbortController();
    const { result } = asked(JSON_TYPE, controller.signal);
    controller.abort();
    expect(await result()).toBe(408);
    expect(await asked(JSON_TYPE, AbortSignal.abort()).result()).toBe(408);
  });

  test('that breaks off is refused', async () => {
    const { body, result } = asked();
    body.destroy(new Error('gone'));
    expect(await result()).toBe(408);
  });

  test.each([
    ['application/json', 200],
    ['Application/JSON ; charset=utf-8', 200],
    ['application/json;charset="UTF-8"', 200],
    ['application/json; charset=latin1', 415],
    ['application/jsonp', 415],
    ['text/json', 415],
  ])('of the type %s: %d', async (type, status) => {
    const { body, result } = asked({ 'content-type': type });
    body.end('{}');
    expect(await result()).toBe(status === 200 ? '{}' : status);
  });

  test('must not be compressed', async () => {
    expect(await asked({ ...JSON_TYPE, 'content-encoding': 'gzip' }).result()).toBe(415);
    const plain = asked({ ...JSON_TYPE, 'content-encoding': 'Identity' });
    plain.body.end('{}');
    expect(await plain.result()).toBe('{}');
  });
});
