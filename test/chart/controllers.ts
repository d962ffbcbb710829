import path from 'node:path';
import { Component } from '../control-plane/component.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { ensureNodeBinaries } from '../real-node/binaries.ts';

/** A kube-controller-manager of a control plane, with these controllers alone. */
export async function startControllers(
  { dir, kubeconfig }: ControlPlane,
  controllers: readonly string[],
  more: readonly string[] = [],
): Promise<Component> {
  const { 'kube-controller-manager': command } = await ensureNodeBinaries();
  const component = new Component({
    name: 'kube-controller-manager',
    command,
    args: [
      ...[`--kubeconfig=${kubeconfig}`, '--secure-port=0', '--leader-elect=false'],
      ...[`--controllers=${controllers.join(',')}`, ...more],
    ],
    logFile: path.join(dir, 'kube-controller-manager.log'),
    cwd: dir,
    isReady: async () => true,
  });
  await component.start();
  return component;
}
