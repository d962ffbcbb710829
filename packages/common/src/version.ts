/**
 * The version of this build, and the only place where it is written; CHANGELOG.md says what is in it. What else carries
 * it is generated: the bundles, the chart, the manifests.
 */
export const VERSION = '0.1.0';
