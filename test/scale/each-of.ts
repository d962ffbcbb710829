/** Calls `act` for every item, at most `concurrency` at a time. Rejects with the first failure, and begins nothing more. */
export async function eachOf<T>(
  items: readonly T[],
  concurrency: number,
  act: (item: T, index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  async function work(): Promise<void> {
    while (next < items.length) {
      const index = next++;
      await act(items[index] as T, index).catch((error: unknown) => {
        next = items.length;
        throw error;
      });
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, work));
}
