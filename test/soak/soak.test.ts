import { expect, test } from 'vitest';
import { soak } from './run.ts';

/** Deeds that take seconds, each once; `npm run soak` does all deeds for an hour, on real nodes as well. */
const DEEDS = [
  'services alone',
  'agents killed',
  'agents frozen',
  'tokens renewed',
  'clocks stepped',
  'what others wrote changed by them',
  'what is ours changed by others',
  'Secret of the certificate deleted',
  'API server killed',
  'etcd killed',
  'nowhere to log to',
  'coordinator killed',
];

test('whatever is done to services, agents, coordinators and the control plane, all that is said becomes true', async () => {
  const said: string[] = [];
  const { deeds, lies, table } = await soak({
    ...{ seed: 1, fleet: 16, realNodes: false, deeds: DEEDS },
    say: (line) => void said.push(line),
    stopped: new Promise(() => {}),
  });
  expect(lies).toEqual([]);
  expect([...deeds.keys()]).toEqual(expect.arrayContaining(DEEDS));
  expect(table).toContain('Verdict: nothing lied, and nothing grew');
}, 120_000);
