import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { showProgress } from './progress.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function stream(isTTY: boolean): { isTTY: boolean; text: string; write(text: string): void } {
  return {
    isTTY,
    text: '',
    write(text) {
      this.text += text;
    },
  };
}

describe('showProgress', () => {
  it('writes a line at once, one every 15 s and one at the end if the output is not a terminal', () => {
    const out = stream(false);
    const progress = showProgress(out, 'etcd: building');
    vi.advanceTimersByTime(31_000);
    progress.end('etcd: built');
    vi.advanceTimersByTime(60_000);
    expect(out.text).toBe('etcd: building … 0 s\netcd: building … 15 s\netcd: building … 30 s\netcd: built (31 s)\n');
  });

  it('rewrites one line on a terminal', () => {
    const out = stream(true);
    const progress = showProgress(out, 'etcd: downloading');
    progress.update('etcd: downloading 3 of 9 MB');
    vi.advanceTimersByTime(1_000);
    progress.end('etcd: downloaded');
    const lines = out.text.split('\r\u001b[K');
    expect(lines.slice(1)).toEqual([
      'etcd: downloading … 0 s',
      'etcd: downloading 3 of 9 MB … 1 s',
      'etcd: downloading 3 of 9 MB … 1 s',
      'etcd: downloaded (1 s)\n',
    ]);
  });
});
