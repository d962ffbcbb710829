import { CodedError } from '@rollcall/common/coded-error.ts';
import { expect, test } from 'vitest';
import { KubeStatusError, mayBeGone } from './client.ts';

const status = (code: number) => new KubeStatusError(code, {}, undefined, {});

test.each([
  [status(404), true],
  [status(409), true],
  [status(403), false],
  [status(500), false],
  [new CodedError('KUBE_UNREACHABLE', 'no answer'), false],
  [undefined, false],
])('whether an object may be gone after %s: %s', (error, isGone) => {
  expect(mayBeGone(error)).toBe(isGone);
});
