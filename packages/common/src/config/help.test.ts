import { describe, expect, test } from 'vitest';
import { flagTable, helpText } from './help.ts';
import type { OptionTable } from './option.ts';

const OPTIONS = {
  level: { type: 'string', choices: ['low', 'high'], default: 'low', env: ['LEVEL', 'OLD_LEVEL'], help: 'How much.' },
  url: { type: 'string', defaultText: '<own namespace>', help: 'This | that.' },
  jsonLog: { type: 'boolean', default: true, short: 'j', help: 'JSON.' },
  poolLabels: { type: 'list', default: ['a', 'b'], alias: 'pools', help: 'Labels.' },
  port: { type: 'number', min: 1, max: 9, help: 'Port.' },
} as const satisfies OptionTable;

describe('helpText', () => {
  const text = helpText({ name: 'tester', summary: 'tests things', options: OPTIONS });

  test('begins with what the program is for', () => {
    expect(text.split('\n').slice(0, 3)).toEqual(['tester: tests things', '', 'Usage: tester [flags]']);
  });

  test.each([
    '  --level VALUE\n      How much. One of low, high. (default: low; environment: LEVEL, OLD_LEVEL)\n',
    '  --url VALUE\n      This | that. (default: <own namespace>)\n',
    '  -j, --json-log\n      JSON. (default: true)\n',
    '  --pool-labels A,B,…\n      Labels. (default: a,b)\n',
    '  --port N\n      Port. (default: none)\n',
    '  -h, --help\n',
    '  --version\n',
    '  --print-config\n',
  ])('has %j', (part) => {
    expect(text).toContain(part);
  });
});

test('flagTable is the same as Markdown', () => {
  expect(flagTable(OPTIONS)).toBe(`| flag | environment | default | meaning |
| --- | --- | --- | --- |
| \`--level\` | \`LEVEL\`, \`OLD_LEVEL\` | low | How much. One of low, high. |
| \`--url\` |  | &lt;own namespace&gt; | This \\| that. |
| \`--json-log\`, \`-j\` |  | true | JSON. |
| \`--pool-labels\`, \`-pools\` |  | a,b | Labels. |
| \`--port\` |  |  | Port. |`);
});
