import { readFileSync } from 'node:fs';
import path from 'node:path';
import { VERSION } from '@rollcall/common/version.ts';
import type { MarkdownRenderer } from 'vitepress';
import { PROJECT } from '../../../deploy/source/project.ts';
import { PAGES } from './navigation.ts';

const ROOT = path.resolve(PAGES, '../..');

/** The tag of this version, or the default branch while it has none. */
const isReleased = !readFileSync(path.join(ROOT, 'CHANGELOG.md'), 'utf8').includes(`## ${VERSION} (not released yet)`);
const REF = isReleased ? `v${VERSION}` : 'HEAD';

/** Links from a page to a file of the repository that is no page lead to that file in the source of this version, as far as it is released. */
export function linkToSource(markdown: MarkdownRenderer): void {
  const render = markdown.renderer.rules['link_open'];
  markdown.renderer.rules['link_open'] = (tokens, index, options, env: { path?: string }, self) => {
    const token = tokens[index];
    const target = token?.attrGet('href');
    if (target && env.path) token?.attrSet('href', resolved(env.path, target));
    return render?.(tokens, index, options, env, self) ?? self.renderToken(tokens, index, options);
  };
}

/** `target` as the site has it, of a link on the page in the file `page`. */
function resolved(page: string, target: string): string {
  const [relative = '', anchor] = target.split('#');
  if (relative === '' || /^[a-z]+:|^\//.test(relative)) return target;
  const file = path.resolve(path.dirname(page), decodeURI(relative));
  if (file.startsWith(PAGES + path.sep)) return target;
  return `${PROJECT.source}/blob/${REF}/${path.relative(ROOT, file)}${anchor === undefined ? '' : `#${anchor}`}`;
}
