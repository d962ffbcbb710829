import { readdirSync } from 'node:fs';
import path from 'node:path';
import { PROBES } from '@rollcall/agent/probes/kinds.ts';
import { CHECK_KINDS, PROBE_KINDS } from '@rollcall/common/checks/check-kinds.ts';
import { observeNodeService } from '@rollcall/coordinator/state/services/node-service.ts';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { fencePolicies } from './fence-policy.ts';
import { manifestFiles } from './files.ts';
import { poolLabelsPolicies } from './pool-labels-policy.ts';
import { DEFAULT_SETTINGS } from './settings.ts';

const root = path.resolve(import.meta.dirname, '../../..');

type Schema = {
  type: string;
  enum?: string[];
  maxLength?: number;
  maxItems?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
};

/** Where a schema, known by its path, has no largest size. The fraction of a time may be of any length. */
function unboundedIn(schema: Schema, path: string): string[] {
  const isBounded =
    schema.type === 'string'
      ? (schema.enum ?? schema.maxLength) !== undefined
      : schema.type === 'array'
        ? schema.maxItems !== undefined
        : schema.type !== 'object' || schema.properties !== undefined;
  const below = { ...schema.properties, ...(schema.items ? { '[]': schema.items } : {}) };
  return [
    ...(isBounded ? [] : [path]),
    ...Object.entries(below).flatMap(([name, each]) => unboundedIn(each, `${path}.${name}`)),
  ];
}

type Manifest = {
  kind: string;
  metadata: { name: string };
  spec: {
    paramKind?: object;
    variables?: { name: string }[];
    matchConstraints?: { resourceRules: { operations: string[] }[] };
    versions?: { schema: { openAPIV3Schema: { properties: { status: Schema } } } }[];
  };
};

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

  test('bound each text and list of a status, of which whoever may write it could otherwise fill an object', () => {
    const crds = manifestFiles().filter(({ file }) => file.startsWith('deploy/crds/'));
    const unbounded = crds.flatMap(({ file, content }) =>
      objectsIn(content).flatMap(({ spec }) =>
        (spec.versions ?? []).flatMap(({ schema }) => unboundedIn(schema.openAPIV3Schema.properties.status, file)),
      ),
    );
    expect(crds).toHaveLength(4);
    expect(unbounded).toEqual([]);
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
    expect(fencePolicies(elsewhere)).toContain("'system:serviceaccount:elsewhere:rollcall-coordinator'");
    expect(poolLabelsPolicies(elsewhere)).toContain('namespace: elsewhere');
    for (const render of [fencePolicies, poolLabelsPolicies]) {
      expect(render(elsewhere)).not.toMatch(/namespace: rollcall|serviceaccount:rollcall/);
    }
  });

  test('name each of their variables once', () => {
    for (const { content } of manifestFiles().filter(({ file }) => file.startsWith('deploy/policies/'))) {
      for (const { spec } of objectsIn(content)) {
        const names = spec.variables?.map(({ name }) => name) ?? [];
        expect(names).toEqual([...new Set(names)]);
      }
    }
  });

  test('have no parameters where a Node is changed: each would be evaluated for each write by any client', () => {
    for (const { content } of manifestFiles().filter(({ file }) => file.startsWith('deploy/policies/'))) {
      for (const { kind, spec } of objectsIn(content)) {
        if (!spec.paramKind) continue;
        const operations = spec.matchConstraints?.resourceRules.flatMap((rule) => rule.operations);
        expect([kind, operations]).toEqual(['MutatingAdmissionPolicy', ['CREATE']]);
      }
    }
  });

  test('quote no name in a way that would end a string of CEL', () => {
    const { services, poolLabels, poolPrefixes, reservedDomains, labelPrefixes, annotations } = DEFAULT_SETTINGS;
    const names = [...poolLabels, ...reservedDomains, ...labelPrefixes, ...annotations];
    names.push(...poolPrefixes.filter((prefix) => prefix !== ''));
    for (const { label, taint } of services) names.push(label, taint);
    expect(names.filter((name) => !/^[A-Za-z0-9./_-]+$/.test(name))).toEqual([]);
  });
});

test('the CRDs have no empty properties, which the API server drops: appliers of one file would conflict', () => {
  const crds = manifestFiles().filter(({ file }) => file.startsWith('deploy/crds/'));
  expect(crds).not.toEqual([]);
  for (const { file, content } of crds) expect(content, file).not.toContain('properties: {}');
});

test('the agent can make every probe that is described, and the coordinator knows each kind of check and no other', () => {
  expect(PROBES.map(({ kind }) => kind)).toEqual(Object.keys(PROBE_KINDS));
  const metadata = { name: 'a', uid: 'u', resourceVersion: '1' };
  const unknownOf = (kind: string) =>
    observeNodeService({ metadata, spec: { checks: [{ name: 'c', [kind]: { other: 1 } }] } }).unknownField;
  const kinds = Object.keys(CHECK_KINDS);
  expect(kinds.map(unknownOf)).toEqual(kinds.map((kind) => `spec.checks[0].${kind}.other`));
  expect(unknownOf('quic')).toBe('spec.checks[0].quic');
});
