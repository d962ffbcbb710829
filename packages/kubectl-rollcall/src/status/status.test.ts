import { nodeSummary, replicaDocument } from '@rollcall/common/console.test-fixtures.ts';
import { describe, expect, test } from 'vitest';
import { fleet, TERMINALS } from '../testing/documents.test-fixtures.ts';
import { widthOf } from '../text/width.ts';
import { statusOf } from './status-of.ts';
import { statusText } from './status-text.ts';

const sizes = [1, 50, 5000];
const cases = sizes.flatMap((size) => Object.keys(TERMINALS).map((width) => ({ size, width })));

describe('status', () => {
  test.each(cases)('of $size nodes, $width', async ({ size, width }) => {
    const terminal = TERMINALS[width] ?? { columns: undefined, colors: false };
    for (const troubled of [false, true]) {
      const text = statusText(statusOf(fleet(size, { troubled })), terminal, false);
      await expect(text).toMatchFileSnapshot(`golden/${size}-${troubled ? 'troubled' : 'well'}-${width}.txt`);
      const lines = text.split('\n').filter((line) => !line.includes('fix: '));
      for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(terminal.columns ?? 1000);
    }
  });

  test('of a dry run says what would be done, and is no failure', () => {
    const found = statusOf({ replica: replicaDocument({ dryRun: true }), nodes: [nodeSummary({ pending: true })] });
    expect(found).toMatchObject({ holds: true, answer: expect.stringContaining('dry run') });
    expect(found.findings).toMatchObject([
      { severity: 'warn', text: expect.stringContaining('1 node would be changed') },
    ]);
  });

  test('of a standby is no answer', () => {
    const found = statusOf({
      replica: replicaDocument({ leading: false, leader: 'the-other' }),
      nodes: [nodeSummary()],
    });
    expect(found).toMatchObject({ holds: false, answer: expect.stringContaining('The state is unknown') });
    expect(found.findings[0]?.text).toContain('the leader is the-other');
  });

  test.each<[string, Parameters<typeof nodeSummary>[0], boolean]>([
    ['a service that is not ready', { services: { a: 'not-ready' } }, true],
    ['a service that is held back', { services: { a: 'not-ready' }, heldBack: ['a'] }, true],
    ['a silent agent', { agent: 'silent' }, false],
    ['an agent that was not heard yet', { agent: 'unheard' }, false],
    ['a node without an agent', { agent: 'absent' }, true],
    ['a contested key', { contested: ['k'] }, false],
    ['a key that cannot be written', { skipped: ['k'] }, false],
    ['a write that is under way', { pending: true }, false],
  ])('%s', (_what, node, holds) => {
    const found = statusOf({ replica: replicaDocument(), nodes: [nodeSummary(node), nodeSummary({ name: 'node-2' })] });
    expect(found.holds).toBe(holds);
    for (const { cure } of found.findings) expect(cure).not.toBe('');
  });

  test('of 5,000 nodes is quick to make', () => {
    const document = fleet(5000);
    const nodes = document.nodes.map((node, index) => ({
      ...node,
      services: { 'ws-daemon': index % 2 === 0 ? 'not-ready' : 'ready' } as const,
    }));
    const beganMs = performance.now();
    statusText(statusOf({ ...document, nodes }), { columns: 80, colors: false }, true);
    expect(performance.now() - beganMs).toBeLessThan(2000);
  });
});
