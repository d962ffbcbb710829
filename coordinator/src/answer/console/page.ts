import { createHash } from 'node:crypto';

export type Page = { body: Buffer; headers: Readonly<Record<string, string>> };

/**
 * The page, with a policy that lets the browser run only its own content, and connect only to the console that served
 * it.
 */
export function pageOf(html: string): Page {
  const policy = [
    "default-src 'none'",
    `script-src ${hashesOf(html, 'script')}`,
    `style-src ${hashesOf(html, 'style')}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ];
  return {
    body: Buffer.from(html),
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy.join('; '),
      'cross-origin-opener-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
  };
}

/** Hashes of the content of the elements with this name. */
function hashesOf(html: string, element: 'script' | 'style'): string {
  const contents = [...html.matchAll(new RegExp(`<${element}[^>]*>(.*?)</${element}>`, 'gs'))].map(
    ([, text = '']) => text,
  );
  if (contents.length === 0) return "'none'";
  return contents.map((text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`).join(' ');
}
