import { hexOf } from './cached-input.ts';

/** A part of the image, as an SBOM describes it. */
export type Component = {
  /** `npm/%40scope/name` or `deb/debian/name`, as in a package URL. */
  kind: 'npm' | 'deb' | 'generic';
  name: string;
  version: string;
  license?: string | undefined;
  checksum?: { algorithm: 'SHA256' | 'SHA512'; value: string };
  /** For people. */
  comment?: string;
  /** Qualifiers of the package URL, such as `arch=arm64`. */
  qualifiers?: string;
  /** The name by which databases of vulnerabilities know it, if it has no package URL that they know. */
  cpe?: string;
};

export type SbomSubject = { name: string; version: string; license: string; architecture: string };

/**
 * An SPDX 2.3 document of the image and what is in it. Its namespace is made from its content, so that the same image
 * has the same document.
 */
export function spdxDocument(subject: SbomSubject, components: readonly Component[], created: string): string {
  const root = { ...spdxPackage({ kind: 'generic', ...subject }), primaryPackagePurpose: 'CONTAINER' };
  const packages = components.map(spdxPackage);
  const digest = hexOf(JSON.stringify([subject, created, packages]));
  const document = {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: `${subject.name}-${subject.version}-linux-${subject.architecture}`,
    documentNamespace: `urn:sha256:${digest}`,
    creationInfo: { created, creators: ['Tool: rollcall deploy/image'] },
    packages: [root, ...packages],
    relationships: [
      relationship('SPDXRef-DOCUMENT', 'DESCRIBES', root.SPDXID),
      ...packages.map(({ SPDXID }) => relationship(root.SPDXID, 'CONTAINS', SPDXID)),
    ],
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function spdxPackage({ kind, name, version, license, checksum, comment, qualifiers, cpe }: Component) {
  const path = { npm: name.replace('@', '%40'), deb: `debian/${name.replaceAll('+', '%2B')}`, generic: name }[kind];
  const url = `pkg:${kind}/${path}@${encodeURIComponent(version)}${qualifiers ? `?${qualifiers}` : ''}`;
  return {
    SPDXID: `SPDXRef-${kind}-${`${name}-${version}`.replace(/[^\w.-]/g, '-').replaceAll('_', '-')}`,
    name,
    versionInfo: version,
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    licenseConcluded: 'NOASSERTION',
    licenseDeclared: license ?? 'NOASSERTION',
    copyrightText: 'NOASSERTION',
    ...(checksum ? { checksums: [{ algorithm: checksum.algorithm, checksumValue: checksum.value }] } : {}),
    ...(comment ? { comment } : {}),
    externalRefs: [
      { referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: url },
      ...(cpe ? [{ referenceCategory: 'SECURITY', referenceType: 'cpe23Type', referenceLocator: cpe }] : []),
    ],
  };
}

function relationship(from: string, relationshipType: string, to: string) {
  return { spdxElementId: from, relationshipType, relatedSpdxElement: to };
}
