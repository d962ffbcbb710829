import { collectionPath, type WatchedResource } from '@rollcall/common/watched-resources.ts';
import type { ReflectorOptions } from '../kube/reflector.ts';

type Common = Pick<ReflectorOptions<never>, 'path' | 'absentIsEmpty' | 'relistMs'>;

/** How a resource is watched, by the table of watched resources; in one namespace, or everywhere. */
export function watchOf(watched: WatchedResource, namespace?: string): Common {
  const { unlisted, relistMs } = watched;
  return {
    path: collectionPath(watched, namespace),
    ...(unlisted === 'empty' ? { absentIsEmpty: true } : {}),
    ...(relistMs === undefined ? {} : { relistMs }),
  };
}
