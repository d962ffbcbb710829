import { CONDITIONS_OF_OTHERS } from '@rollcall/common/node-lifecycle.ts';
import { IDENTITY_LABELS } from '@rollcall/common/pool-labels.ts';
import { SERVICE_LABEL_PREFIX, WORKSPACE_NODE_LABELS } from '@rollcall/common/well-known.ts';
import type { Asker, KeyConfig, KeyEntry, KeyKind, ServiceKeys } from './key-entry.ts';
import { KEY_KINDS } from './key-kinds.ts';
import { OWN_KEYS, serviceKeys } from './own-keys.ts';

/** Who has a label that several want; `name` is for people. */
export type LabelOwner = { kind: Asker; name: string };

/** Who decides about which key of a Node: what rollcall has by name, and the keys of services, which come and go. */
export class KeyRegistry {
  readonly #config: KeyConfig;
  readonly #services = new Map<string, readonly KeyEntry[]>();
  /** By kind and key; made when it is asked for, since thousands of services may come at once. */
  #named: ReadonlyMap<string, KeyEntry> | undefined;
  #owners: ReadonlyMap<string, LabelOwner> = new Map();
  #revision = 0;

  constructor(config: KeyConfig) {
    this.#config = config;
    for (const service of config.watchedServices) this.#services.set(service.name, serviceKeys(service));
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
      this.#byName().get(idOf(kind, key)) ??
      PREFIXES.find((each) => each.kind === kind && key.startsWith(each.prefix))?.entry
    );
  }

  /**
   * Says why a key that people choose is not to be had, whatever else is allowed, or nothing. The domains of Kubernetes
   * are another matter: some may use them, where they are told so.
   */
  refusal(asker: Asker, kind: KeyKind, key: string): string | undefined {
    if (kind === 'label' && this.namesPool(key)) return 'names the pool of a node';
    if (kind === 'label' && IDENTITY_LABELS.includes(key)) return 'identifies a pool or a node';
    if (kind === 'label' && asker !== 'pool' && WORKSPACE_NODE_LABELS.includes(key))
      return 'selects the nodes of workspaces';
    const entry = this.entryOf(kind, key);
    if (entry) return entry.owner === undefined ? 'is set by rollcall for another reason' : `belongs to ${entry.owner}`;
    const owner = kind === 'label' ? this.#owners.get(key) : undefined;
    return owner !== undefined && owner.kind !== asker ? `belongs to ${owner.name}` : undefined;
  }

  /** Sets who has labels that pools and rules both want. Those of services are in the entries. */
  setOwners(owners: ReadonlyMap<string, LabelOwner>): void {
    const isKnown = ([key, { name }]: [string, LabelOwner]) => this.#owners.get(key)?.name === name;
    if (owners.size === this.#owners.size && [...owners].every(isKnown)) return;
    this.#owners = owners;
    this.#revision += 1;
  }

  /** Whether a label says that a service is ready. */
  isOfService(label: string): boolean {
    return this.entryOf('label', label)?.labeler === 'readiness';
  }

  /** Whether a label says which pool a node is in, on any node. */
  namesPool(label: string): boolean {
    return this.#config.poolLabels.includes(label);
  }

  /** The label that names the pool of a node with these labels. */
  poolLabelOf(labels: Readonly<Record<string, string>>): string | undefined {
    return this.#config.poolLabels.find((key) => labels[key]);
  }

  /** Whether this key must stay although a Node lists it, because another component decides about it. */
  isUntouchable(kind: KeyKind, key: string): boolean {
    if (kind === 'condition') return CONDITIONS_OF_OTHERS.includes(key);
    if (this.refusal('pool', kind, key) !== undefined) return true;
    return KEY_KINDS[kind].domainOf(key) !== undefined;
  }

  /** Whether a taint is rollcall's where no list says whose it is: NodeServices alone use its prefix. */
  isTaintOfServices(key: string): boolean {
    return key.startsWith(SERVICE_LABEL_PREFIX) && !this.isUntouchable('taint', key);
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
    this.#named = undefined;
  }

  #byName(): ReadonlyMap<string, KeyEntry> {
    if (this.#named) return this.#named;
    const named = this.entries.flatMap((entry): [string, KeyEntry][] =>
      'name' in entry.keys ? [[idOf(entry.kind, entry.keys.name), entry]] : [],
    );
    // Of two, the first counts.
    this.#named = new Map(named.reverse());
    return this.#named;
  }
}

const PREFIXES = OWN_KEYS.flatMap((entry) =>
  'prefix' in entry.keys ? [{ kind: entry.kind, prefix: entry.keys.prefix, entry }] : [],
);

function idOf(kind: KeyKind, key: string): string {
  return `${kind}:${key}`;
}
