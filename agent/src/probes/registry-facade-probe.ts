import type { Clock } from '@rollcall/common/clock.ts';
import { createHttpsProbe, type HttpCheck } from './http-probe.ts';
import type { CaProvider } from './https-agent.ts';
import type { Probe } from './types.ts';

const CHECK: HttpCheck = {
  path: '/v2/remote/not-a-valid-image/manifests/latest',
  headers: { accept: 'application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json' },
  expectedStatus: 404,
};

/**
 * Healthy when registry-facade answers 404 to the manifest of an image that cannot exist: its way of saying that it
 * serves. Without `ca`, its certificate is not verified, as Gitpod's own check does it.
 */
export function createRegistryFacadeProbe(clock: Clock, ca?: CaProvider): Probe {
  return createHttpsProbe(clock, CHECK, ca);
}
