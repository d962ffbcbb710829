/** How a release came to be, as its attestation tells it. */
export type Origin = {
  /** The commit. */
  revision: string;
  /** The repository, such as `https://github.com/OWNER/rollcall`; `undefined` where only a local one is known. */
  source: string | undefined;
  /** The builder: the URI of the workflow or of a trial. */
  builder: string;
  /** One run of it. */
  invocation: string | undefined;
};

/** The predicate of an attestation of the type https://slsa.dev/provenance/v1. */
export function provenance(origin: Origin, parameters: Readonly<Record<string, string>>): object {
  const { revision, source, builder, invocation } = origin;
  return {
    buildDefinition: {
      buildType: 'https://rollcall.dev/release/v1',
      externalParameters: parameters,
      resolvedDependencies: [{ uri: `git+${source ?? 'file:///'}`, digest: { gitCommit: revision } }],
    },
    runDetails: {
      builder: { id: builder },
      ...(invocation === undefined ? {} : { metadata: { invocationId: invocation } }),
    },
  };
}
