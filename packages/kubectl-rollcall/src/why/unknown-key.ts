import { nearest } from '@rollcall/common/config/option.ts';
import type { NodeDocument } from '@rollcall/common/console.ts';
import { type KubeApi, KubeApiError } from '../cluster/kube-api.ts';
import { CommandFailure, EXIT } from '../failure.ts';
import { listed } from '../text/count.ts';

/** Resources of rollcall whose objects may ask for keys. */
const CRDS = ['nodepoollabels', 'nodeservices'];

/** Returns the CRDs that the API server does not know; none if it cannot be asked. */
export async function missingCrds(kube: () => KubeApi): Promise<string[]> {
  try {
    const { resources } = await kube().get<{ resources: { name: string }[] }>('/apis/rollcall.dev/v1alpha1');
    return CRDS.filter((crd) => !resources.some(({ name }) => name === crd));
  } catch (error) {
    return error instanceof KubeApiError && error.status === 404 ? CRDS : [];
  }
}

/** Why no labeler decides about a key of a node. */
export function unknownKey({ name, keys }: NodeDocument, key: string, missing: readonly string[]): CommandFailure {
  const text = `rollcall does not decide about ${key} on node/${name}`;
  const all = new Set(keys.map((each) => each.key));
  const alike = [...all].filter((each) => each.includes(key) || sameEnd(each, key));
  const near = alike.length > 0 ? alike : [nearest(key, [...all]) ?? []].flat();
  const exitCode = EXIT.notSo;
  if (near.length > 0) return new CommandFailure(text, `did you mean ${listed(near)}?`, { exitCode });
  if (missing.length > 0) {
    const files = missing.map((crd) => `-f deploy/crds/${crd}.yaml`).join(' ');
    return new CommandFailure(
      `${text}: the CRD of ${listed(missing)} is not installed`,
      `kubectl apply ${files}, then create the object that requests the key; to see who else writes it: kubectl get node ${name} --show-managed-fields -o yaml`,
      { exitCode },
    );
  }
  return new CommandFailure(
    text,
    `check that the object that requests it is accepted: kubectl get nodeservices,nodepoollabels -A -o wide; to see who else writes it: kubectl get node ${name} --show-managed-fields -o yaml`,
    { exitCode },
  );
}

function sameEnd(a: string, b: string): boolean {
  return a.split('/').at(-1) === b.split('/').at(-1);
}
