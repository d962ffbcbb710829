import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../control-plane/wait-for.ts';
import { eachOf } from '../../scale/each-of.ts';
import { RuleStage } from './rule-stage.ts';

const NODES = 1000;
const MATCHING = 10;
const names = Array.from({ length: NODES }, (_, index) => `many-${index}`);
const matching = names.slice(0, MATCHING);

let stage: RuleStage;
beforeAll(async () => {
  stage = await RuleStage.start({ 'accelerators/edgetpu': 'nothing\n' });
  await eachOf(names, 16, (name) => {
    const labels = matching.includes(name) ? { special: '1' } : { ordinary: '1' };
    return stage.api.post('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });
  });
  await stage.settled();
}, 240_000);
afterAll(() => stage?.stop());

async function allHave(value: string | undefined): Promise<number> {
  const check = () => matching.every((name) => stage.states.last(name)?.labels['accelerators/edgetpu'] === value);
  await waitFor(`${MATCHING} nodes to have the label ${value}`, check, { timeoutMs: 60_000, everyMs: 5 });
  return performance.now();
}

test('A-17 one edited file with 1,000 nodes of which 10 match is 10 writes, and 10 when it is edited back', async ({
  annotate,
}) => {
  for (const [content, value] of [
    ['special\n', 'true'],
    ['nothing\n', undefined],
  ] as const) {
    let tookMs = 0;
    const patches = await stage.patchesBy(async () => {
      const fromMs = performance.now();
      await stage.write('accelerators/edgetpu', content);
      tookMs = Math.round((await allHave(value)) - fromMs);
    });
    expect(patches).toBe(MATCHING);
    await annotate(`${tookMs} ms from the edit to the last of ${MATCHING} nodes`);
  }
});
