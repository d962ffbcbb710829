import { CodedError } from '@rollcall/common/coded-error.ts';
import type { KubeClient } from './client.ts';
import type { KubeObject } from './objects.ts';

export type ListRequest = {
  path: string;
  selectors: Record<string, string>;
  accept: string;
  /** Objects on a page; 0 for all on one. */
  pageSize: number;
  timeoutMs: number;
  signal: AbortSignal;
};

export type MetadataOnly = boolean | (() => boolean);

export function acceptOf(
  as: 'PartialObjectMetadata' | 'PartialObjectMetadataList',
  only: MetadataOnly = false,
): string {
  const isMetadata = typeof only === 'function' ? only() : only;
  return isMetadata ? `application/json;as=${as};g=meta.k8s.io;v=v1` : 'application/json';
}

/** Returns the query of a watch of what these select, from a version on. */
export function watchQuery(
  selectors: Record<string, string>,
  resourceVersion: string,
  seconds: number,
): Record<string, string> {
  const bookmarks = { watch: 'true', allowWatchBookmarks: 'true' };
  return { ...selectors, ...bookmarks, resourceVersion, timeoutSeconds: String(seconds) };
}

type Page = { metadata?: { resourceVersion?: string; continue?: string }; items?: KubeObject[] | null };

/**
 * Reads a list page by page, handing each over as it comes so that it need not be held whole. Resolves to the
 * resourceVersion that the list, which is consistent over its pages, stands for. Throws like `KubeClient.request`, and
 * KUBE_WATCH_BROKEN for an answer that is not a list: taken for an empty one, it would delete everything.
 */
export async function listPages(
  client: Pick<KubeClient, 'request'>,
  request: ListRequest,
  onPage: (objects: KubeObject[]) => void,
): Promise<string> {
  const { path, selectors, accept, pageSize, timeoutMs, signal } = request;
  let continueToken: string | undefined;
  for (;;) {
    const page = await client.request<Page>({
      method: 'GET',
      path,
      // No resourceVersion: with "0" the API server would ignore the limit, and might be behind.
      query: { ...selectors, limit: String(pageSize), ...(continueToken ? { continue: continueToken } : {}) },
      accept,
      timeoutMs,
      signal,
    });
    const version = page.metadata?.resourceVersion;
    if (!version || page.items === undefined) {
      throw new CodedError('KUBE_WATCH_BROKEN', 'The answer to a list is not a list', { fields: { path } });
    }
    onPage(page.items ?? []);
    continueToken = page.metadata?.continue;
    if (!continueToken) return version;
  }
}
