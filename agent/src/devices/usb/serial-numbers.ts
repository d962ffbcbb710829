import type { HostFiles } from '../host-files.ts';

type Entry = { signature: string; text: string | undefined };

/**
 * Serial numbers of USB devices. A read waits for the lock that the kernel holds while it sets up or resets the device,
 * which takes seconds with a broken device; the other attributes have no lock. So serial numbers are read outside of
 * the event loop, one at a time to leave the threads to others, and a device shows without its serial number until
 * then.
 */
export class SerialNumbers {
  readonly #files: Pick<HostFiles, 'textLater'>;
  readonly #onRead: () => void;
  readonly #entries = new Map<string, Entry>();
  readonly #waiting: string[] = [];
  #isReading = false;

  /** `onRead` is called when serial numbers have become known. */
  constructor(files: Pick<HostFiles, 'textLater'>, onRead: () => void) {
    this.#files = files;
    this.#onRead = onRead;
  }

  /** There are some that will be known later. */
  get isReading(): boolean {
    return this.#isReading;
  }

  /** The serial number in `file`, if it is known by now for what has this signature. */
  get(file: string, signature: string): string | undefined {
    const known = this.#entries.get(file);
    if (known?.signature === signature) return known.text;
    this.#entries.set(file, { signature, text: undefined });
    if (!this.#waiting.includes(file)) this.#waiting.push(file);
    if (!this.#isReading) void this.#readAll();
    return undefined;
  }

  /** Forgets all but these. */
  keep(present: ReadonlySet<string>): void {
    for (const file of this.#entries.keys()) if (!present.has(file)) this.#entries.delete(file);
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    let found = false;
    for (let file = this.#waiting.shift(); file !== undefined; file = this.#waiting.shift()) {
      const entry = this.#entries.get(file);
      if (!entry) continue;
      entry.text = await this.#files.textLater(file);
      found ||= entry.text !== undefined;
    }
    this.#isReading = false;
    if (found) this.#onRead();
  }
}
