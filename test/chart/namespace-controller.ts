import path from 'node:path';
import { Component } from '../control-plane/component.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { ensureNodeBinaries } from '../real-node/binaries.ts';

/** A kube-controller-manager of a control plane that does nothing but delete what is in deleted namespaces. */
export async function startNamespaceController({ dir, kubeconfig }: ControlPlane): Promise<Component> {
  const { 'kube-controller-manager': command } = await ensureNodeBinaries();
  const controllers = '--controllers=namespace-controller';
  const component = new Component({
    name: 'kube-controller-manager',
    command,
    args: [`--kubeconfig=${kubeconfig}`, '--secure-port=0', '--leader-elect=false', controllers],
    logFile: path.join(dir, 'kube-controller-manager.log'),
    cwd: dir,
    isReady: async () => true,
  });
  await component.start();
  return component;
}
