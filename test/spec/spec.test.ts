import { describe, expect, test } from 'vitest';
import { LARGE, MUTANTS, mutated, SMALL } from './models.ts';
import { check, findTlc } from './tlc.ts';

const tlc = await findTlc();
const missing = typeof tlc === 'string' ? undefined : tlc.missing;
const jar = typeof tlc === 'string' ? tlc : '';

describe.skipIf(missing)(`the specification${missing ? ` (${missing})` : ''}`, () => {
  test.for(MUTANTS)('notices $name', async (mutant) => {
    const { violated, trace } = await check(jar, mutated(mutant));
    expect(violated).toBe(mutant.violates);
    expect(trace).toContain('State 2');
  });

  test.for(Object.entries(SMALL))('holds in the nearest states of the small model %s', async ([, model]) => {
    const { violated, trace, states } = await check(jar, model, { seconds: 20 });
    expect(violated, trace).toBeUndefined();
    expect(states).toBeGreaterThan(1000);
  });

  test('holds in more than a million states', async () => {
    let total = 0;
    for (const model of Object.values(LARGE)) {
      const { violated, trace, states } = await check(jar, model, { seconds: 150, workers: 2 });
      expect(violated, trace).toBeUndefined();
      total += states;
    }
    expect(total).toBeGreaterThan(1_000_000);
  });
});
