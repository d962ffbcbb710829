import { CodedError } from '@rollcall/common/coded-error.ts';
import { fuzzRuns } from '@rollcall/common/testing/fuzz.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { loadKubeConfig } from './kube-config.ts';

const CONFIG = {
  clusters: [{ name: 'c', cluster: { server: 'https://c:6443', 'certificate-authority-data': 'YQ==' } }],
  users: [
    { name: 'u', user: { token: 't', 'client-certificate': 'a.crt', 'client-key': 'a.key' } },
    { name: 'e', user: { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: './x', env: [] } } },
    { name: 'f', user: { tokenFile: 'token' } },
  ],
  contexts: [
    { name: 'x', context: { cluster: 'c', user: 'u' } },
    { name: 'y', context: { cluster: 'c', user: 'e' } },
    { name: 'z', context: { cluster: 'c', user: 'f' } },
  ],
  'current-context': 'x',
};

/** Loads a kubeconfig whose text is `content`; every other file exists. Returns the code of what it throws. */
function codeOf(content: string): string | undefined {
  try {
    loadKubeConfig({ kubeconfig: 'config', master: '' }, (path) => (path === 'config' ? content : 'a file'));
    return undefined;
  } catch (error) {
    if (error instanceof CodedError) return error.code;
    throw error;
  }
}

const mutated = fc
  .tuple(
    fc.constantFrom('x', 'y', 'z'),
    fc.array(
      fc.record({
        at: fc.nat({ max: 700 }),
        drop: fc.nat({ max: 12 }),
        insert: fc.constantFrom(
          '',
          '',
          '{',
          '}',
          '[',
          ']',
          '"',
          ',',
          ': ',
          '&a ',
          '*a',
          'null',
          '1',
          '!!binary ',
          '<<: ',
          '\n',
          '\0',
          '---\n',
        ),
      }),
      { maxLength: 3 },
    ),
  )
  .map(([context, faults]) =>
    faults.reduce(
      (text, { at, drop, insert }) => text.slice(0, at) + insert + text.slice(at + drop),
      JSON.stringify({ ...CONFIG, 'current-context': context }),
    ),
  );
const typed = fc
  .record({
    part: fc.constantFrom('cluster', 'user', 'exec', 'context', 'entry', 'list'),
    value: fc.jsonValue({ maxDepth: 2 }),
  })
  .map(({ part, value }) => {
    const name = 'n';
    const cluster = { name, cluster: part === 'cluster' ? value : { server: 'https://c' } };
    const user = { name, user: part === 'user' ? value : { exec: part === 'exec' ? value : undefined } };
    const context = { name, context: part === 'context' ? value : { cluster: name, user: name } };
    return JSON.stringify({
      clusters: part === 'list' ? value : [cluster],
      users: [part === 'entry' ? value : user],
      contexts: [context],
      'current-context': name,
    });
  });

const bare = fc.constantFrom('', 'null', '~', '1', 'a', '[]', '{}', '- a', '!!binary YQ==', '&a [*a]', '\uFEFF', '---');

test('a kubeconfig of any text is loaded or refused with CONFIG_INVALID', () => {
  const seen = new Set<string | undefined>();
  fc.assert(
    fc.property(fc.oneof(mutated, typed, bare, fc.string({ unit: 'binary', maxLength: 300 })), (content) => {
      const code = codeOf(content);
      seen.add(code);
      expect(['CONFIG_INVALID', undefined]).toContain(code);
    }),
    { numRuns: fuzzRuns(500) },
  );
  expect(seen.size).toBe(2);
});

/** Each name stands for ten of the one before it. */
const LAUGHS = [
  'a: &a [x]',
  ...Array.from('bcdefghijklm', (name, index) => {
    const before = 'abcdefghijkl'[index];
    return `${name}: &${name} [${Array(10).fill(`*${before}`).join(', ')}]`;
  }),
].join('\n');

test.each([
  ['whose text contains itself', 'clusters: &a [{name: c, cluster: *a}]'],
  ['whose plugin contains itself', 'users: [{name: u, user: {exec: &e {apiVersion: [*e]}}}]'],
  ['that grows when it is written out', `${LAUGHS}\nclusters: [{name: c, cluster: {server: *m}}]`],
  ['whose plugin grows when it is written out', `${LAUGHS}\nusers: [{name: u, user: {exec: {apiVersion: *m}}}]`],
  ['that is deep', `clusters: ${'['.repeat(20_000)}`],
  ['that is two documents', 'a: b\n---\nc: d'],
])('a kubeconfig %s is refused with CONFIG_INVALID', (_what, content) => {
  expect(codeOf(content)).toBe('CONFIG_INVALID');
});
