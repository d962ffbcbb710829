import { spawn } from 'node:child_process';
import { openConsole } from '../cluster/console.ts';
import { EXIT } from '../failure.ts';
import type { Surroundings } from '../surroundings.ts';

/** Makes the page reachable on this machine, and opens it in the browser, until the signal aborts. */
export async function openPage(
  { kubeConfig, flags, print, note }: Surroundings,
  { port, browser, signal }: { port?: number; browser: boolean; signal: AbortSignal },
): Promise<number> {
  const console = await openConsole(kubeConfig, { ...flags, ...(port === undefined ? {} : { port }) });
  print(`${console.url}/\n`);
  if (browser) openBrowser(`${console.url}/`);
  if (flags.consoleUrl === undefined) {
    note('The page can be reached at this address until you press Ctrl-C.\n');
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  }
  console.close();
  return EXIT.ok;
}

/** Opens the browser. Without a browser, the user opens the printed address. */
function openBrowser(url: string): void {
  const command = process.platform === 'darwin' ? 'open' : 'xdg-open';
  const child = spawn(command, [url], { stdio: 'ignore', detached: true });
  child.once('error', () => {});
  child.unref();
}
