import { CONDITIONS_OF_OTHERS } from '@rollcall/common/node-lifecycle.ts';
import { ALWAYS_NAMES_POOL } from '@rollcall/common/pool-labels.ts';
import { KUBERNETES_DOMAINS, reservedDomainOf } from '@rollcall/common/reserved-domains.ts';
import { KNOWN_TAINT_PREFIXES, WORKSPACE_NODE_LABELS } from '@rollcall/common/well-known.ts';
import type { Asker, KeyConfig, KeyEntry, KeyKind, ServiceKeys } from './key-entry.ts';
import { OWN_KEYS, serviceKeys } from './own-keys.ts';

/** Who decides about which key of a Node: what rollcall has by name, and the keys of services, which come and go. */
export class KeyRegistry {
  readonly #config: KeyConfig;
  readonly #services = new Map<string, readonly KeyEntry[]>();
  /** By kind and key. */
  #names: ReadonlyMap<string, KeyEntry> = new Map();
  #revision = 0;

  constructor(config: KeyConfig) {
    this.#config = config;
    for (const service of config.watchedServices) this.#services.set(service.name, serviceKeys(service));
    this.#changed();
  }

  /** Grows with each service that comes, changes or goes: what was derived before may be wrong. */
  get revision(): number {
    return this.#revision;
  }

  /** In the order in which they count. */
  get entries(): readonly KeyEntry[] {
    return [...[...this.#services.values()].flat(), ...OWN_KEYS];
  }

  setService(service: ServiceKeys): void {
    this.#services.set(service.name, serviceKeys(service));
    this.#changed();
  }

  removeService(name: string): void {
    if (this.#services.delete(name)) this.#changed();
  }

  /** The entry that has this key by its name or its prefix; `undefined` where data alone can tell. */
  entryOf(kind: KeyKind, key: string): KeyEntry | undefined {
    return (
      this.#names.get(idOf(kind, key)) ??
      PREFIXES.find((each) => each.kind === kind && key.startsWith(each.prefix))?.entry
    );
  }

  /**
   * Says why a key that people choose is not to be had, whatever else is allowed, or nothing. The domains of Kubernetes
   * are another matter: some may use them, where they are told so. With the position of the label that names the pool
   * of a node, later labels are ordinary there.
   */
  refusal(asker: Asker, kind: KeyKind, key: string, poolPosition?: number): string | undefined {
    if (kind === 'label' && this.namesPool(key, poolPosition)) {
      return 'names the pool of a node';
    }
    if (kind === 'label' && asker !== 'pool' && WORKSPACE_NODE_LABELS.includes(key))
      return 'selects the nodes of workspaces';
    return this.entryOf(kind, key) ? 'is set by rollcall for another reason' : undefined;
  }

  /** Whether a label says that a service is ready. */
  isOfService(label: string): boolean {
    return this.entryOf('label', label)?.labeler === 'readiness';
  }

  /** Whether a label says which pool a node is in, at this position of the list or before it. */
  namesPool(label: string, poolPosition = Number.POSITIVE_INFINITY): boolean {
    const position = this.#config.poolLabels.indexOf(label);
    return position >= 0 && position <= poolPosition;
  }

  /**
   * The position, in the list of labels that name pools, of the last one that pools may not set on a node: the one that
   * names its pool, and never before the first three.
   */
  poolPosition(labels: Readonly<Record<string, string>>): number {
    const position = this.#config.poolLabels.findIndex((key) => labels[key]);
    return Math.max(ALWAYS_NAMES_POOL - 1, position);
  }

  /** The label that names the pool of a node with these labels. */
  poolLabelOf(labels: Readonly<Record<string, string>>): string | undefined {
    return this.#config.poolLabels.find((key) => labels[key]);
  }

  /**
   * Whether this key must stay although a Node lists it, because another component decides about it. With the position
   * of the label that names the pool of the node, later labels are ordinary.
   */
  isUntouchable(kind: KeyKind, key: string, poolPosition?: number): boolean {
    if (kind === 'condition') return CONDITIONS_OF_OTHERS.includes(key);
    if (this.refusal('pool', kind, key, poolPosition) !== undefined) return true;
    const isKnown = kind === 'taint' && KNOWN_TAINT_PREFIXES.some((prefix) => key.startsWith(prefix));
    return !isKnown && reservedDomainOf(key, KUBERNETES_DOMAINS) !== undefined;
  }

  /**
   * The same on a node with these labels, of which rollcall set `owned`. A later label of those that name pools is
   * ordinary where rollcall itself set it.
   */
  isUntouchableOn(
    { labels, owned }: { labels: Readonly<Record<string, string>>; owned: ReadonlySet<string> },
    kind: KeyKind,
    key: string,
  ): boolean {
    return this.isUntouchable(kind, key, owned.has(key) ? this.poolPosition(labels) : undefined);
  }

  /** Whether taints or conditions are kept as they should be all the time, so that whole Nodes have to be watched. */
  get needsWholeNodes(): boolean {
    return this.entries.some(({ isKept }) => isKept?.(this.#config) === true);
  }

  /** All of a kind that are named. */
  names(kind: KeyKind): ReadonlySet<string> {
    return new Set(
      this.entries.flatMap((entry) => (entry.kind === kind && 'name' in entry.keys ? [entry.keys.name] : [])),
    );
  }

  #changed(): void {
    this.#revision += 1;
    const named = this.entries.flatMap((entry): [string, KeyEntry][] =>
      'name' in entry.keys ? [[idOf(entry.kind, entry.keys.name), entry]] : [],
    );
    // Of two, the first counts.
    this.#names = new Map(named.reverse());
  }
}

const PREFIXES = OWN_KEYS.flatMap((entry) =>
  'prefix' in entry.keys ? [{ kind: entry.kind, prefix: entry.keys.prefix, entry }] : [],
);

function idOf(kind: KeyKind, key: string): string {
  return `${kind}:${key}`;
}
