import type { ProbeSpec } from '@rollcall/common/report.ts';
import type { Timing } from './types.ts';

/** A service of the node as the agent's own flags say. */
export type ServiceSettings = Timing & {
  name: string;
  port: number;
  /** How it is asked, in the words that the wire has for it. */
  spec: ProbeSpec;
  /** Of what is asked by TLS: a file with CA certificates. Without it, certificates are not verified. */
  caFile?: string;
};

/**
 * The manifest of an image that cannot exist: 404 is registry-facade's way of saying that it serves, as Gitpod's own
 * check has it.
 */
export const REGISTRY_FACADE_PROBE: ProbeSpec = {
  kind: 'https',
  path: '/v2/remote/not-a-valid-image/manifests/latest',
  headers: { accept: 'application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json' },
  statuses: ['404'],
};
