/** The version of this build; CHANGELOG.md says what is in it. The bundles carry the same. */
export const VERSION = '0.1.0';
