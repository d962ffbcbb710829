/** Where progress goes; `process.stderr` fits. */
export interface ProgressStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

export interface Progress {
  /** Changes what the line says is going on. */
  update(text: string): void;
  /** Ends the display; with a text, leaves it as the last line. */
  end(text?: string): void;
}

const plainEveryMs = 15_000;
const terminalEveryMs = 500;

/**
 * Shows that something long is going on: on a terminal one line that is rewritten, elsewhere a line at once, one every
 * 15 s, and one at the end. Does not keep the process alive.
 */
export function showProgress(stream: ProgressStream, text: string): Progress {
  const began = Date.now();
  let current = text;
  const seconds = () => Math.round((Date.now() - began) / 1000);
  const draw = () => {
    if (stream.isTTY) stream.write(`\r\u001b[K${current} … ${seconds()} s`);
    else stream.write(`${current} … ${seconds()} s\n`);
  };
  draw();
  const timer = setInterval(draw, stream.isTTY ? terminalEveryMs : plainEveryMs);
  timer.unref();
  return {
    update(next) {
      current = next;
    },
    end(last) {
      clearInterval(timer);
      if (stream.isTTY) stream.write('\r\u001b[K');
      if (last !== undefined) stream.write(`${last} (${seconds()} s)\n`);
    },
  };
}
