export type KeyKind = 'label' | 'annotation' | 'taint' | 'condition';

/** Keys of Nodes that one labeler decides about, and all that the rest of the coordinator has to know about them. */
export type KeyEntry = {
  kind: KeyKind;
  /**
   * One key; all that begin with a prefix; or those that data asks for, which an annotation on the Node lists. Of one
   * key and two labelers, the one that names it has it, then the one that comes first in the list of entries.
   */
  keys: { name: string } | { prefix: string } | { listedIn: string };
  /** As the claims have it. */
  labeler: string;
  /** For people: the service or feature that has it. */
  owner?: string;
  /** README.md of the labelers explains it; `theirs` is what people write, and rollcall only reads. */
  ownership: 'exclusive' | 'forced' | 'shared' | 'theirs';
  /** Of a taint or condition: where it is kept as it should be all the time, for which whole Nodes are watched; else it is removed. */
  isKept?: (config: KeyConfig) => boolean;
  /** Whether the fence lets the coordinator add it, or only remove it; defaults to both. */
  fence?: 'remove';
  /**
   * Pruning removes the key even if another writer set it last. By default it gives up ownership of what rollcall
   * applied.
   */
  prune?: 'remove';
  /** For the table of keys: its value, and what is so exactly while it is there. */
  value: string;
  presentWhile: string;
};

/** What of the configuration keys depend on. */
export type KeyConfig = {
  watchedServices: readonly ServiceKeys[];
  /** The labels that name a node's pool: no rule, set or service may set them. */
  poolLabels: readonly string[];
  startupGateRequires: readonly string[];
  startupGateDaemonSets?: boolean;
};

/** A service as far as keys go. */
export type ServiceKeys = {
  name: string;
  publish: { label?: string; taint?: { key: string; value: string; effect: string }; condition?: string };
  origin: { kind: 'built-in'; gate: 'label' | 'taint' | 'both' } | { kind: 'object' };
};

/** Who asks for keys that people choose. What rollcall decides by name is for none of them, and a service goes first. */
export type Asker = 'service' | 'pool' | 'rule';
