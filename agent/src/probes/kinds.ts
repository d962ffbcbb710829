import { PROBE_KINDS } from '@rollcall/common/checks/check-kinds.ts';
import { problemIn, readBy } from '@rollcall/common/checks/schema.ts';
import type { ProbeSpec } from '@rollcall/common/report.ts';
import { VERSION } from '@rollcall/common/version.ts';
import { csi } from './csi-probe.ts';
import { dns } from './dns-probe.ts';
import { file } from './file-probe.ts';
import { grpc } from './grpc-probe.ts';
import { http } from './http-probe.ts';
import { http2 } from './http2-probe.ts';
import { https } from './https-probe.ts';
import { kubernetesService } from './kubernetes-service-probe.ts';
import { tcp } from './tcp-probe.ts';
import { tls } from './tls-probe.ts';
import type { ProbeKind } from './types.ts';
import { unix } from './unix-probe.ts';

/** Every kind of probe that this agent knows. */
export const PROBES: readonly ProbeKind[] = [
  tcp,
  tls,
  http2,
  http,
  https,
  grpc,
  csi,
  unix,
  file,
  dns,
  kubernetesService,
];

const NO_PROBE: ProbeSpec = { kind: '' };

/**
 * Returns the kind of a probe, and its settings; a string says why this agent cannot make it. A setting that the agent does
 * not know, since it is older than the coordinator, may be what the verdict depends on.
 */
export function readProbe(spec: ProbeSpec = NO_PROBE): { kind: ProbeKind; settings: object } | string {
  const { kind: name, caBundle, ...given } = spec;
  const kind = PROBES.find((each) => each.kind === name);
  const schema = kind && PROBE_KINDS[kind.kind]?.schema;
  if (!schema) return `version ${VERSION} of the agent has no probe of the kind ${name}`;
  const { properties = {}, required = [] } = schema;
  // The port may come with a target. What is in a bundle, TLS reads; here its name alone is checked.
  const fields = { type: 'object', properties, required: required.filter((field) => field !== 'port') };
  const problem = problemIn(fields, caBundle === undefined ? given : { ...given, caBundle: '' }, '')?.slice(1);
  if (problem !== undefined) {
    const isKnown = Object.hasOwn(properties, /^\w*/.exec(problem)?.[0] ?? '');
    return isKnown
      ? `its ${problem} is not valid`
      : `version ${VERSION} of the agent does not know its setting ${problem}`;
  }
  return { kind, settings: readBy(schema, { ...given, caBundle }) };
}
