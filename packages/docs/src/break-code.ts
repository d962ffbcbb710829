import type { MarkdownRenderer } from 'vitepress';

/** Lets long names in code break after these, and nowhere else, so that they can be read in the columns of tables. */
const ENDS_PART = /[/._=,:]+/g;

export function breakCode(markdown: MarkdownRenderer): void {
  const render = markdown.renderer.rules['code_inline'];
  if (!render) return;
  markdown.renderer.rules['code_inline'] = (...args) => {
    const html = render(...args);
    const [, start = '', text = '', end = ''] = /^(<code[^>]*>)([\s\S]*)(<\/code>)$/.exec(html) ?? [];
    return start === '' ? html : `${start}${text.replaceAll(ENDS_PART, '$&<wbr>')}${end}`;
  };
}
