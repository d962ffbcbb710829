import type { CheckKind, ProbeKind } from './check-kind.ts';
import { dns, kubernetesService } from './kinds/cluster.ts';
import { condition } from './kinds/condition.ts';
import { csiNode } from './kinds/csi-node.ts';
import { device } from './kinds/device.ts';
import { file, unix } from './kinds/file.ts';
import { csi, grpc } from './kinds/grpc.ts';
import { http, https } from './kinds/http.ts';
import { pods } from './kinds/pods.ts';
import { dra, resource } from './kinds/resource.ts';
import { http2, tcp, tls } from './kinds/tcp.ts';

/** What the coordinator sees itself, or counts of what agents report. */
export const SEEN_KINDS = { pods, condition, csiNode, device, resource, dra };

/** What agents find out when they are told to. */
export const PROBE_KINDS: Readonly<Record<string, ProbeKind>> = {
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
};

/** Every kind of check that a NodeService can have, but for `anyOf`. */
export const CHECK_KINDS: Readonly<Record<string, CheckKind>> = { ...SEEN_KINDS, ...PROBE_KINDS };

/** The kinds that need no agent, by name. */
export const AGENTLESS_KINDS: readonly string[] = Object.keys(CHECK_KINDS).filter(
  (kind) => CHECK_KINDS[kind]?.voucher !== 'agent',
);

export type SeenKindName = keyof typeof SEEN_KINDS;

/** The settings of a kind, as they are read. */
export type SettingsOf<K extends SeenKindName> = NonNullable<(typeof SEEN_KINDS)[K]['settings']>;
