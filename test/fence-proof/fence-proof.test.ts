import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { readEnvironment } from '../control-plane/environment.ts';
import { proveFence } from './fence-proof.ts';

const FENCE = path.join(import.meta.dirname, '../../deploy/policies/fence.yaml');
const environment = readEnvironment();

test('the fence admits what its contract admits, over every pair of Nodes of the short scope', async () => {
  const { code, out } = await proveFence(['-short'], environment);
  expect({ code, differences: out.match(/DIFFERENCE[\s\S]*?\n\n/g) }).toEqual({ code: 0, differences: null });
});

describe('a hole in the fence is a difference:', () => {
  test.each<[string, string, string, string]>([
    [
      'a label of a rule that another client set, and that is listed now',
      '(k in variables.ofRule && !(k in variables.taken)) ||',
      'k in variables.ofRule ||',
      'label accelerators',
    ],
    ['a list with a key twice', 'variables.keyIds[i - 1] < id', 'variables.keyIds[i - 1] <= id', 'label service'],
    ['another account', "request.userInfo.username in ['", "request.userInfo.username in ['x", 'the rest'],
    [
      "a person's hold",
      ", 'karpenter.sh/do-not-disrupt'] && variables.annotations[k]",
      '] && variables.annotations[k]',
      'do-not-disrupt',
    ],
  ])('%s', async (_what, text, changed, only) => {
    const policy = await readFile(FENCE, 'utf8');
    expect(policy).toContain(text);
    const dir = await mkdtemp(path.join(tmpdir(), 'fence-proof-'));
    const file = path.join(dir, 'fence.yaml');
    try {
      await writeFile(file, policy.replace(text, changed));
      const { code, out } = await proveFence(['-short', '-only', only, '-policy', file], environment);
      expect(code).toBe(1);
      expect(out).toContain('DIFFERENCE: ');
    } finally {
      await rm(dir, { recursive: true });
    }
  });
});
