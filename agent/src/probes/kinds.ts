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
export const PROBE_KINDS: readonly ProbeKind[] = [
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
