import { buildBundles } from '../build.ts';
import { ensureBinaries } from './control-plane/binaries.ts';

/**
 * What every end-to-end test needs: the two programs as they ship, and the binaries of a control plane.
 * @public vitest calls it.
 */
export async function setup(): Promise<void> {
  await buildBundles();
  await ensureBinaries();
}
