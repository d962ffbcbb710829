/** A value; `undefined` where the key is to be absent; HOLD where it is to stay as it is; ANY where it is unknown. */
export type Want = string | undefined | typeof HOLD | typeof ANY;
export const HOLD = Symbol('hold');
export const ANY = Symbol('any');
