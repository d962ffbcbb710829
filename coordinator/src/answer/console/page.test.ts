import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { pageOf } from './page.ts';

const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

test('the policy lets in what is in the page, and nothing else', () => {
  const { headers } = pageOf('<style>a{}</style><script type="module">b()\nc()</script>');
  expect(headers['content-security-policy']?.split('; ')).toEqual([
    "default-src 'none'",
    `script-src ${hash('b()\nc()')}`,
    `style-src ${hash('a{}')}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ]);
});

test('a page without a script runs none', () => {
  expect(pageOf('<p>').headers['content-security-policy']).toContain("script-src 'none'; style-src 'none'");
});
