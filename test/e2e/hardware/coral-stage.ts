import path from 'node:path';
import { type Host, unpackHost } from '../../fixtures/unpack.ts';
import { type UsbDevice, unplugUsb } from '../../fixtures/usb.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import type { Rig } from '../../rig/rig.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';

export const EDGETPU = 'accelerators/edgetpu';
export const IDENTITY = 'device.rollcall.dev/edgetpu';
export const PORT = '1-3';
export const FRESH: UsbDevice = { port: PORT, vendor: '1a6e', device: '089a', interfaces: [{ class: 'fe' }] };
export const USED: UsbDevice = { port: PORT, vendor: '18d1', device: '9302', interfaces: [{ class: 'ff' }] };
export const FRESH_KEY = 'feature.node.kubernetes.io/usb-fe_1a6e_089a.present';
export const USED_KEY = 'feature.node.kubernetes.io/usb-ff_18d1_9302.present';

const RULES = path.resolve(import.meta.dirname, '../../../deploy/rules');

/** A node of a machine with a Coral stick, with the rules that are shipped, the fence that is shipped, and real processes. */
export class CoralStage {
  readonly host: Host;
  readonly embedded: EmbeddedRig;
  readonly node: SimulatedNode;

  private constructor(host: Host, embedded: EmbeddedRig, node: SimulatedNode) {
    this.host = host;
    this.embedded = embedded;
    this.node = node;
  }

  /** The machine has its stick where its kernel found it; here it begins without. */
  static async start(clockSpeed = 1): Promise<CoralStage> {
    const host = await unpackHost('coral-usb');
    await unplugAll(host);
    const coordinatorArgs = [`--label-dir=${RULES}`, `--stale-after-seconds=${3 * clockSpeed}`];
    const embedded = await startEmbeddedRig({ nodes: 0, coordinatorArgs, clockSpeed });
    const node = await embedded.rig.addNode({ sysfsRoot: host.sysfsRoot });
    await embedded.rig.allReady();
    return new CoralStage(host, embedded, node);
  }

  get rig(): Rig {
    return this.embedded.rig;
  }

  labels(): Readonly<Record<string, string>> {
    return this.rig.history.labels(this.node.name);
  }

  /** The values that a label has had since a moment. */
  since(atMs: number, key: string): (string | undefined)[] {
    return this.rig.history.since(atMs, key, this.node.name).map(({ to }) => to);
  }

  /** Waits until a label is there, or is not. */
  until(key: string, value: 'true' | undefined, timeoutMs?: number): Promise<void> {
    return this.rig.history.until(this.node.name, key, value, timeoutMs);
  }

  unplugAll(): Promise<void> {
    return unplugAll(this.host);
  }

  async stop(): Promise<void> {
    await this.embedded.stop();
    await this.host.remove();
  }
}

async function unplugAll(host: Host): Promise<void> {
  for (const port of ['2-1', PORT]) await unplugUsb(host, port).catch(() => {});
}
