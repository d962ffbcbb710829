import { readFileSync } from 'node:fs';

const BUILT = new URL('../../../dist/console.html', import.meta.url);

/**
 * The page as one HTML file; `undefined` where it was not built. The build puts it in place of this function, so that the
 * program has it in itself; from source it is what was built last.
 */
export function pageHtml(): string | undefined {
  try {
    return readFileSync(BUILT, 'utf8');
  } catch {
    return undefined;
  }
}
