import { buildBundles } from '../build.ts';
import { ensureBinaries } from './control-plane/binaries.ts';
import { ensureHelm, HELM_VERSIONS } from './helm/helm.ts';
import { ensureKarpenter } from './karpenter/karpenter.ts';

/**
 * What end-to-end tests need: the two programs as they ship, the binaries of a control plane, Helm, and Karpenter. What is
 * built with Go the first time takes longer than a hook of a test may. Where Helm or Karpenter is not to be had, the
 * tests of it say why. Other projects of this run, and programs that tests start, do not build the bundles again.
 * @public vitest calls it.
 */
export async function setup(): Promise<void> {
  await buildBundles();
  // biome-ignore lint/style/noProcessEnv: `build.ts` reads it, also in what tests start
  process.env['ROLLCALL_BUNDLES_ARE_BUILT'] = 'true';
  await ensureBinaries();
  for (const major of HELM_VERSIONS) await ensureHelm(major).catch(() => {});
  await ensureKarpenter().catch(() => {});
}
