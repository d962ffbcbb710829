import { expect, test } from 'vitest';
import { AwayLabels } from './evictor.ts';
import type { NodeState } from './misplaced-pods.ts';

const gone = (...keys: string[]): NodeState => ({
  labels: { zone: 'a' },
  withdrawn: Object.fromEntries(keys.map((key) => [key, 'true'])),
});

function looking(away = new AwayLabels(30)) {
  return (state: NodeState, nowMs: number, node = 'n') => {
    const { state: ripe, moreInMs } = away.look(node, state, nowMs);
    return [Object.keys(ripe.withdrawn).join(), moreInMs];
  };
}

test('a label counts once it has been away for so long', () => {
  const look = looking();
  expect(look(gone('a'), 100)).toEqual(['', 30]);
  expect(look(gone('a'), 129)).toEqual(['', 1]);
  expect(look(gone('a'), 130)).toEqual(['a', undefined]);
});

test('each has its own time', () => {
  const look = looking();
  look(gone('a'), 0);
  expect(look(gone('a', 'b'), 10)).toEqual(['', 20]);
  expect(look(gone('a', 'b'), 30)).toEqual(['a', 10]);
  expect(look(gone('a', 'b'), 30, 'm')).toEqual(['', 30]);
});

test('the time begins anew when it was back, also if the note was still there', () => {
  const look = looking();
  look(gone('a'), 0);
  look({ ...gone('a'), labels: { a: 'true' } }, 10);
  expect(look(gone('a'), 30)).toEqual(['', 30]);
  look(gone(), 40);
  expect(look(gone('a'), 65)).toEqual(['', 30]);
});

test('so it does for another value, and where all was forgotten', () => {
  const away = new AwayLabels(30);
  const look = looking(away);
  look(gone('a'), 0);
  expect(look({ labels: {}, withdrawn: { a: 'gold' } }, 30)).toEqual(['', 30]);
  away.clear();
  expect(look({ labels: {}, withdrawn: { a: 'gold' } }, 60)).toEqual(['', 30]);
  away.forget('n');
  expect(look({ labels: {}, withdrawn: { a: 'gold' } }, 90)).toEqual(['', 30]);
});

test('a label that has another value now is away', () => {
  const look = looking();
  const other = { labels: { a: 'gold' }, withdrawn: { a: 'true' } };
  expect(look(other, 0)).toEqual(['', 30]);
  expect(look(other, 30)).toEqual(['a', undefined]);
});

test('without a delay it counts at once', () => {
  expect(looking(new AwayLabels(0))(gone('a'), 5)).toEqual(['a', undefined]);
});
