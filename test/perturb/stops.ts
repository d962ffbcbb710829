/** What ends the parts of something, in the order in which they were opened. */
export type Stops = (() => unknown)[];

/** Opens something of several parts. Where that fails, the parts that are open are ended again. */
export async function opened<T>(open: (stops: Stops) => Promise<T>): Promise<T> {
  const stops: Stops = [];
  try {
    return await open(stops);
  } catch (error) {
    await stopAll(stops);
    throw error;
  }
}

/** Ends what was opened last first. */
export async function stopAll(stops: Stops): Promise<void> {
  for (const stop of stops.splice(0).reverse()) await stop();
}
