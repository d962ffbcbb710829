/** Does it, and says what it took. */
export async function step<T>(what: string, does: () => Promise<T>): Promise<T> {
  const startedMs = performance.now();
  const result = await does();
  process.stdout.write(`${what} (${((performance.now() - startedMs) / 1000).toFixed(1)} s)\n`);
  return result;
}

/** @throws when it does not fail. */
export async function expectFailure(does: () => Promise<unknown>): Promise<void> {
  const failed = await does().then(
    () => false,
    () => true,
  );
  if (!failed) throw new Error('it should have failed');
}

/** @throws when they differ. */
export function expectSame(actual: string, expected: string): void {
  if (actual !== expected) throw new Error(`differs:\n${actual}\n${expected}`);
}
