import type { ApiClient, KubeObject } from '../control-plane/api-client.ts';
import { watch, watchNodes } from '../control-plane/watch.ts';
import { NODE_SERVICES } from './objects.ts';
import { type NodeView, withoutUids } from './picture.ts';

/** Every value of each key of each object, in order; the empty string means that the key was absent. */
export type Histories = ReadonlyMap<string, readonly string[]>;

/** Keeps every value that each key of each Node had, and each condition of each NodeService, as the API server tells. */
export class KeyHistory {
  readonly #histories = new Map<string, string[]>();
  /** Names by uid. A Node that was deleted and created again gets its name and a number. */
  readonly #names = new Map<string, string>();
  readonly #stops: readonly (() => void)[];

  constructor(api: ApiClient) {
    this.#stops = [
      watchNodes(api, ({ type, object }) => {
        if (type === 'ADDED' || type === 'MODIFIED') this.#note(this.#nameOf(object), valuesOf(object as NodeView));
      }),
      watch(api, NODE_SERVICES, ({ type, object }) => {
        if (type === 'MODIFIED') this.#note(`NodeService/${object.metadata.name}`, conditionsOf(object));
      }),
    ];
  }

  get all(): Histories {
    return this.#histories;
  }

  stop(): void {
    for (const stop of this.#stops) stop();
  }

  #note(name: string, values: ReadonlyMap<string, string>): void {
    for (const key of values.keys()) {
      if (!this.#histories.has(`${name} ${key}`)) this.#histories.set(`${name} ${key}`, ['']);
    }
    for (const [id, history] of this.#histories) {
      if (!id.startsWith(`${name} `)) continue;
      const value = values.get(id.slice(name.length + 1)) ?? '';
      // That nothing is known yet at first is no change.
      if (history.length === 1 && value === 'Unknown') continue;
      if (history.at(-1) !== value) history.push(value);
    }
  }

  #nameOf({ metadata: { name, uid = '' } }: KubeObject): string {
    const known = this.#names.get(uid);
    if (known !== undefined) return known;
    const before = [...this.#names.values()].filter((each) => each.split('#')[0] === name).length;
    const made = before === 0 ? name : `${name}#${before + 1}`;
    this.#names.set(uid, made);
    return made;
  }
}

function conditionsOf(object: KubeObject): Map<string, string> {
  const { conditions = [] } = (object['status'] ?? {}) as { conditions?: { type: string; status: string }[] };
  return new Map(conditions.map(({ type, status }) => [type, status]));
}

function valuesOf({ metadata, spec, status }: NodeView): Map<string, string> {
  const all = new Map<string, string>();
  for (const [key, value] of Object.entries(metadata.labels ?? {})) all.set(`label ${key}`, value);
  for (const [key, value] of Object.entries(metadata.annotations ?? {}))
    all.set(`annotation ${key}`, withoutUids(value));
  for (const { key, effect } of spec.taints ?? []) all.set(`taint ${key}`, effect);
  for (const { type, status: is } of status.conditions ?? []) all.set(`condition ${type}`, is);
  return all;
}

/**
 * Keys that had values which they did not have in the reference, or had them again: a run may leave out what was overtaken,
 * and no more. `mayBeUnknown`: that nothing is known of a service for a moment does not count.
 */
export function strayHistories(reference: Histories, actual: Histories, mayBeUnknown: boolean): string[] {
  return [...actual].flatMap(([id, all]) => {
    const values = mayBeUnknown && id.startsWith('NodeService/') ? withoutUnknown(all) : all;
    const expected = reference.get(id) ?? [''];
    return isWithin(values, expected) ? [] : [`${id}: ${values.join(' → ')} instead of ${expected.join(' → ')}`];
  });
}

function withoutUnknown(values: readonly string[]): string[] {
  const known = values.filter((value) => value !== 'Unknown');
  return known.filter((value, index) => value !== known[index - 1]);
}

/** Whether the values are a subsequence of the other list. */
function isWithin(values: readonly string[], expected: readonly string[]): boolean {
  let at = 0;
  for (const value of values) {
    at = expected.indexOf(value, at);
    if (at < 0) return false;
    at += 1;
  }
  return true;
}
