/** Sentences of documents, by their page, with figures and names that are taken from the source. */
export type Claims = Readonly<Record<string, readonly string[]>>;
