const { ROLLCALL_HISTORIES, ROLLCALL_SEED } = process.env;
const IS_ONE = ROLLCALL_SEED !== undefined && ROLLCALL_HISTORIES === undefined;
const COUNT = IS_ONE ? 1 : Number(ROLLCALL_HISTORIES ?? 1500);
/** The same in each run, unless more are asked for than a run of the suite can afford. */
const FROM = Number(ROLLCALL_SEED ?? (COUNT > 1500 ? Math.floor(Math.random() * 2 ** 31) : 0));

/** The seeds of one half of all histories. Each half has a file of its own, so that both cores play. */
export function seedsOf(half: 'first' | 'second'): { from: number; count: number } {
  const first = Math.ceil(COUNT / 2);
  return half === 'first' ? { from: FROM, count: first } : { from: FROM + first, count: COUNT - first };
}
