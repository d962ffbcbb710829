import { flagName } from '@rollcall/common/config/option.ts';
import { markdownTable } from '../blocks.ts';
import type { ConfigOption, Schema, ValueNode } from './value.ts';

/** Every value of the chart as a table for its page. */
export function valuesTable(root: ValueNode): string {
  return markdownTable(['value', 'default', 'meaning'], rows('', root));
}

function rows(path: string, node: ValueNode): string[][] {
  const below = (name: string) => (path === '' ? name : `${path}.${name}`);
  switch (node.kind) {
    case 'section':
      return [
        ...Object.entries(node.fields).flatMap(([name, each]) => rows(below(name), each)),
        ...(node.entries ? [[code(below('NAME')), 'none', escaped(node.entries.help)]] : []),
      ];
    case 'configuration': {
      const options = Object.entries(node.options);
      // The page of the flags has the meaning.
      return options.map(([name, option]) => [code(below(name)), optionDefault(option), code(flagName(name))]);
    }
    case 'leaf':
      return node.hidden
        ? []
        : [[code(path), code(JSON.stringify(node.default)), escaped(`${node.help}${choicesOf(node.schema)}`)]];
  }
}

function choicesOf({ enum: choices }: Schema): string {
  return Array.isArray(choices) ? ` One of ${choices.join(', ')}.` : '';
}

function optionDefault(option: ConfigOption): string {
  if (option.defaultText !== undefined) return escaped(option.defaultText);
  return option.default === undefined ? '' : code(JSON.stringify(option.default));
}

function code(of: string): string {
  return `\`${of}\``;
}

function escaped(sentence: string): string {
  return sentence.replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
