import { lineWithoutConnection } from './idle-line.ts';
import { inPodNetwork } from './target-rule.ts';
import { createTlsProbe } from './tls-probe.ts';
import type { ProbeKind } from './types.ts';

/**
 * Healthy when the API server answers a TLS handshake at the address of its Service, as for any pod of the node: the
 * network of pods, and what leads from a Service to its endpoints, work. Whether the API server is well is not asked.
 */
export const kubernetesService: ProbeKind = {
  kind: 'kubernetesService',
  addressOf: (_spec, rules) =>
    inPodNetwork(
      rules,
      rules.apiServer ?? 'KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set for this agent',
    ),
  prepare: (_spec, { clock, connect }) => lineWithoutConnection(createTlsProbe(clock, connect)),
};
