import { readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { fencePolicies } from './fence-policy.ts';
import { manifestFiles } from './files.ts';
import { poolLabelsPolicy } from './pool-labels-policy.ts';
import { DEFAULT_SETTINGS } from './settings.ts';

const root = path.resolve(import.meta.dirname, '../../..');

type Manifest = { kind: string; metadata: { name: string } };

function objectsIn(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}

describe('the manifests', () => {
  test('of a folder that is applied as a whole are all generated', () => {
    const there = ['deploy/crds', 'deploy/policies'].flatMap((folder) =>
      readdirSync(path.join(root, folder))
        .filter((name) => name.endsWith('.yaml'))
        .map((name) => `${folder}/${name}`),
    );
    expect(there.toSorted()).toEqual(
      manifestFiles()
        .map(({ file }) => file)
        .toSorted(),
    );
  });

  test('hold each policy next to its binding', () => {
    const policies = manifestFiles().filter(({ file }) => file.startsWith('deploy/policies/'));
    for (const { content } of policies) {
      const objects = objectsIn(content);
      const named = (kind: RegExp) =>
        objects.filter((object) => kind.test(object.kind)).map((each) => each.metadata.name);
      expect(named(/Policy$/)).not.toEqual([]);
      expect(named(/PolicyBinding$/)).toEqual(named(/Policy$/));
    }
  });

  test('are for one namespace, and for another one with another setting', () => {
    const elsewhere = { ...DEFAULT_SETTINGS, namespace: 'elsewhere', poolNamespace: 'elsewhere' };
    for (const render of [fencePolicies, poolLabelsPolicy]) {
      expect(render(elsewhere)).toMatch(/namespace: elsewhere/);
      expect(render(elsewhere)).not.toMatch(/namespace: rollcall|serviceaccount:rollcall/);
    }
  });

  test('quote no name in a way that would end a string of CEL', () => {
    const { services, poolLabels, reservedDomains, labelPrefixes, annotations } = DEFAULT_SETTINGS;
    const names = [...poolLabels, ...reservedDomains, ...labelPrefixes, ...annotations];
    for (const { label, taint } of services) names.push(label, taint);
    expect(names.filter((name) => !/^[A-Za-z0-9./_-]+$/.test(name))).toEqual([]);
  });
});
