import { VERSION } from '@rollcall/common/version.ts';

/** The places of the project; a fork changes only these values. */
export const PROJECT = {
  home: 'https://rollcall.dev',
  source: 'https://github.com/rollcall-dev/rollcall',
  maintainers: [{ name: 'The rollcall maintainers', url: 'https://github.com/rollcall-dev/rollcall' }],
  /** The registry of releases (`REGISTRY` in .github/workflows/release.yaml). */
  registry: 'registry.example.com/rollcall',
} as const;

/** The runbooks of this version. */
export const RUNBOOKS_URL = `${PROJECT.source}/blob/v${VERSION}/packages/docs/how-to/runbooks`;
