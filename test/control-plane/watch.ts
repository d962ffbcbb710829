import { request } from 'node:https';
import type { ApiClient, KubeObject } from './api-client.ts';

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: KubeObject;
}

const retryAfterMs = 100;

/**
 * Watches a collection (path without query, or with selectors) and hands every event to `onEvent`: first one ADDED for
 * each object that is there. Goes on after interruptions from where it was, or anew when that is too old (which brings
 * the ADDED events again). Returns the function that stops it.
 */
export function watch(client: ApiClient, path: string, onEvent: (event: WatchEvent) => void): () => void {
  let stopped = false;
  let resourceVersion = '';
  let abort = () => {};
  let timer: NodeJS.Timeout | undefined;

  function again(): void {
    if (stopped || timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      connect();
    }, retryAfterMs);
  }

  function take(line: string): void {
    const event = JSON.parse(line) as WatchEvent;
    if (event.type === 'ERROR') {
      resourceVersion = '';
      abort();
      return;
    }
    resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
    onEvent(event);
  }

  function connect(): void {
    const url = new URL(path, client.url);
    url.searchParams.set('watch', 'true');
    if (resourceVersion !== '') url.searchParams.set('resourceVersion', resourceVersion);
    const outgoing = request(url, client.requestOptions('GET'), (response) => {
      if (response.statusCode !== 200) {
        resourceVersion = '';
        response.resume();
        response.on('close', again);
        return;
      }
      let rest = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) if (!stopped) take(line);
      });
      response.on('error', again);
      response.on('close', again);
    });
    abort = () => outgoing.destroy();
    outgoing.on('error', again);
    outgoing.end();
  }

  connect();
  return () => {
    stopped = true;
    clearTimeout(timer);
    abort();
  };
}

/** Watches all Nodes; see {@link watch}. */
export function watchNodes(client: ApiClient, onEvent: (event: WatchEvent) => void): () => void {
  return watch(client, '/api/v1/nodes', onEvent);
}
