import type { SeenKindName } from '@rollcall/common/checks/check-kinds.ts';
import type { DeviceReport, ProbeSpec } from '@rollcall/common/report.ts';
import {
  ON_DEMAND_ACTORS,
  ON_DEMAND_KINDS,
  type OnDemandKind,
} from '@rollcall/coordinator/decide/readiness/on-demand-actors.test-fixtures.ts';
import { PROBED_KINDS } from '@rollcall/coordinator/decide/readiness/probes.test-fixtures.ts';
import type { KubeObject } from '@rollcall/coordinator/kube/objects.ts';

/** A Node for which something is there. */
type OfNode = { name: string; uid: string; createdAtMs: number };

/**
 * How a check of a kind is written, and how the cluster shows of a node whether it is so: by an object of its own, by what
 * the Node says, or by what the agent reports.
 */
export type Shape =
  | ObjectShape
  | ({ check: object } & (
      | { allocatable: (isSo: boolean) => Record<string, string> }
      | { condition: (isSo: boolean) => { type: string; status: 'True' | 'False' } }
      | { devices: (isSo: boolean) => DeviceReport[] }
    ));

type ObjectShape = { check: object; object: (node: OfNode, isSo: boolean) => KubeObject };

const CSI_DRIVER = 'csi.example';
const RESOURCE = 'model.example/device';
const CONDITION = 'other.example/Healthy';

/** An accelerator, and a network device that is none. */
const DEVICES: readonly DeviceReport[] = [
  { bus: 'usb', attributes: { class: 'fe', vendor: '1a6e', device: '089a' } },
  { bus: 'pci', attributes: { class: '0200', vendor: '15b3', device: '101e' } },
];

/** All of these are so while the devices are there. */
export const DEVICE_NAMES = ['edgetpu', 'usb:1a6e', 'usb:1a6e:089a', 'pci:15b3', 'pci:15b3:101e@0200'] as const;

function onDemand(kind: OnDemandKind): ObjectShape {
  const { settings, object } = ON_DEMAND_ACTORS[kind];
  return { check: settings, object };
}

/** Pods have their own deeds. A kind without a shape does not compile: one that is watched on demand needs an actor. */
export const SHAPES = {
  ...(Object.fromEntries(ON_DEMAND_KINDS.map((kind) => [kind, onDemand(kind)])) as Record<OnDemandKind, ObjectShape>),
  csiNode: {
    check: { driver: CSI_DRIVER },
    object: ({ name, uid }, isSo) => ({
      metadata: { name, uid: `of-${uid}`, resourceVersion: '1', ownerReferences: [{ kind: 'Node', uid }] },
      spec: { drivers: (isSo ? [CSI_DRIVER, 'other'] : []).map((driver) => ({ name: driver })) },
    }),
  },
  resource: { check: { name: RESOURCE }, allocatable: (isSo) => ({ [RESOURCE]: isSo ? '1' : '0' }) },
  condition: {
    check: { type: CONDITION, missing: 'Fail' },
    condition: (isSo) => ({ type: CONDITION, status: isSo ? 'True' : 'False' }),
  },
  device: { check: { name: DEVICE_NAMES[0] }, devices: (isSo) => (isSo ? [...DEVICES] : []) },
} as const satisfies Record<Exclude<SeenKindName, 'pods'>, Shape>;

export type ShapedKind = keyof typeof SHAPES;
export const SHAPED_KINDS = Object.keys(SHAPES) as ShapedKind[];

/** Every kind that is played, here and in `test/simulate`. */
export const PLAYED_KINDS: readonly string[] = ['pods', ...SHAPED_KINDS, ...PROBED_KINDS];

/** The port that a probe names, however it asks, or this one. */
export function portNamed({ port, socket, path, name }: Partial<ProbeSpec>, otherwise: number): number {
  const [digits] = /\d+/.exec(String(port ?? socket ?? path ?? name ?? '')) ?? [];
  return digits === undefined ? otherwise : Number(digits);
}
