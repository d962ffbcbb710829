import { describe, expect, test } from 'vitest';
import { fieldTable, flagTable, helpText } from './help.ts';
import type { OptionTable } from './option.ts';

const OPTIONS = {
  level: { type: 'string', choices: ['low', 'high'], default: 'low', env: ['LEVEL', 'OLD_LEVEL'], help: 'How much.' },
  url: { type: 'string', defaultText: '<own namespace>', help: 'This | that.' },
  jsonLog: { type: 'boolean', default: true, short: 'j', help: 'JSON.' },
  poolLabels: { type: 'list', default: ['a', 'b'], alias: 'pools', help: 'Labels.' },
  port: { type: 'number', min: 1, max: 9, help: 'Port.' },
  guests: {
    type: 'records',
    help: 'Who comes.',
    key: 'name',
    max: 3,
    fields: {
      name: { type: 'string', required: true, help: 'Name.' },
      seat: { type: 'string', choices: ['left', 'right'], defaultText: 'what <host> says', help: 'Where | how.' },
      age: { type: 'number', min: 1, max: 9, help: 'Age.' },
    },
  },
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
    '\n\nOnly in the configuration file: guests\n      Who comes.\n  name VALUE\n      Name. (required)\n',
    '  seat VALUE\n      Where | how. One of left, right. (default: what <host> says)\n',
    '  age N\n      Age. (default: none)\n',
  ])('has %j', (part) => {
    expect(text).toContain(part);
  });
});

test('no flag is shown for what has none', () => {
  expect(helpText({ name: 'tester', summary: '', options: OPTIONS })).not.toContain('--guests');
});

test('fieldTable shows the fields of a record', () => {
  expect(fieldTable(OPTIONS.guests.fields)).toBe(`| field | default | meaning |
| --- | --- | --- |
| \`name\` | required | Name. |
| \`seat\` | what &lt;host&gt; says | Where \\| how. One of left, right. |
| \`age\` |  | Age. |`);
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
