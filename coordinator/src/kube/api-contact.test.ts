import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { expect, test } from 'vitest';
import { ApiContact } from './kube-metrics.ts';

test('silence counts from the last answer that was what was asked for', async () => {
  const clock = new FakeClock();
  const contact = new ApiContact(clock);
  await clock.advance(1000);
  expect(contact.silentMs()).toBe(Number.POSITIVE_INFINITY);
  contact.answered('201');
  await clock.advance(500);
  for (const code of ['error', '500', '403']) contact.answered(code);
  expect(contact.silentMs()).toBe(500);
  contact.answered('200');
  expect(contact.silentMs()).toBe(0);
});
