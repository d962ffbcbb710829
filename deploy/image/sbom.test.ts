import { expect, test } from 'vitest';
import { type Component, spdxDocument } from './sbom.ts';

const SUBJECT = { name: 'rollcall', version: '1.0', license: 'Apache-2.0', architecture: 'arm64' };
const CREATED = '2026-01-02T03:04:05Z';
const document = (components: readonly Component[], created = CREATED) =>
  JSON.parse(spdxDocument(SUBJECT, components, created));
const packageOf = (component: Component) => document([component]).packages[1];

test('the document is of the image, which contains each component', () => {
  const found = document([{ kind: 'npm', name: 'a', version: '1' }]);
  expect(found).toMatchObject({
    spdxVersion: 'SPDX-2.3',
    name: 'rollcall-1.0-linux-arm64',
    documentNamespace: expect.stringMatching(/^urn:sha256:[0-9a-f]{64}$/),
    creationInfo: { created: CREATED },
    packages: [
      { SPDXID: 'SPDXRef-generic-rollcall-1.0', licenseDeclared: 'Apache-2.0', primaryPackagePurpose: 'CONTAINER' },
      { SPDXID: 'SPDXRef-npm-a-1' },
    ],
    relationships: [
      {
        spdxElementId: 'SPDXRef-DOCUMENT',
        relationshipType: 'DESCRIBES',
        relatedSpdxElement: 'SPDXRef-generic-rollcall-1.0',
      },
      {
        spdxElementId: 'SPDXRef-generic-rollcall-1.0',
        relationshipType: 'CONTAINS',
        relatedSpdxElement: 'SPDXRef-npm-a-1',
      },
    ],
  });
});

test.each<[Component, string, string]>([
  [{ kind: 'npm', name: '@s/a_b', version: '1.0+x' }, 'pkg:npm/%40s/a_b@1.0%2Bx', 'SPDXRef-npm--s-a-b-1.0-x'],
  [
    { kind: 'deb', name: 'libstdc++6', version: '1:2~3', qualifiers: 'arch=arm64' },
    'pkg:deb/debian/libstdc%2B%2B6@1%3A2~3?arch=arm64',
    'SPDXRef-deb-libstdc--6-1-2-3',
  ],
  [{ kind: 'generic', name: 'node', version: '26' }, 'pkg:generic/node@26', 'SPDXRef-generic-node-26'],
])('a component has the URL by which scanners know it: %j', (component, url, id) => {
  const found = packageOf(component);
  expect(found.externalRefs).toEqual([
    { referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: url },
  ]);
  expect(found.SPDXID).toBe(id);
});

test('a component has what is known of it, and nothing else', () => {
  const bare = { kind: 'npm', name: 'a', version: '1' } as const;
  expect(packageOf(bare)).toMatchObject({ licenseDeclared: 'NOASSERTION', filesAnalyzed: false });
  expect(packageOf(bare)).not.toHaveProperty('checksums');
  expect(packageOf(bare)).not.toHaveProperty('comment');
  const checksum = { algorithm: 'SHA256', value: 'ff' } as const;
  expect(packageOf({ ...bare, license: 'MIT', checksum, comment: 'c' })).toMatchObject({
    licenseDeclared: 'MIT',
    checksums: [{ algorithm: 'SHA256', checksumValue: 'ff' }],
    comment: 'c',
  });
});

test('the namespace is another where the content is another, and only then', () => {
  const of = (...args: Parameters<typeof document>) => document(...args).documentNamespace;
  expect(of([])).toBe(of([]));
  expect(of([])).not.toBe(of([], '2027-01-01T00:00:00Z'));
  expect(of([])).not.toBe(of([{ kind: 'npm', name: 'a', version: '1' }]));
});
