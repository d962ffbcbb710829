/** A certificate (or chain, leaf first) and its private key, both PEM. */
export type KeyPair = {
  cert: string;
  key: string;
  /** The certificate (PEM) of who signed it, where that is known and not in the chain. */
  authority?: string;
};

/** The certificate that is served now. A certificate source sets it, and servers subscribe to it. */
export class CertificateHolder {
  #current: KeyPair | undefined;
  readonly #listeners = new Set<(pair: KeyPair) => void>();

  get current(): KeyPair | undefined {
    return this.#current;
  }

  /** Returns whether it is another one than before. */
  set(pair: KeyPair): boolean {
    if (this.#current?.cert === pair.cert && this.#current.key === pair.key) return false;
    this.#current = pair;
    for (const listener of this.#listeners) listener(pair);
    return true;
  }

  /** Calls `listener` at every change until the returned function is called. */
  onChange(listener: (pair: KeyPair) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
