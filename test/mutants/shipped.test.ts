import { expect, test } from 'vitest';
import { runShipped, SHIPPED } from './shipped.ts';

test('each defect that others shipped is caught, once planted in a copy, by the test that is named for it', async () => {
  const lines: string[] = [];
  expect(await runShipped((line) => lines.push(line)), lines.join('\n')).toBe(true);
  expect(lines.filter((line) => line.includes('caught  '))).toHaveLength(SHIPPED.length);
});
