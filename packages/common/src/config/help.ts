import { flagName, type Option, type OptionTable, type Value } from './option.ts';

type Described = Option & { default?: unknown };

export function helpText(program: { name: string; summary: string; options: OptionTable }): string {
  const lines = [`${program.name}: ${program.summary}`, '', `Usage: ${program.name} [flags]`, '', 'Flags:'];
  for (const [key, option] of Object.entries<Described>(program.options)) {
    const short = option.short ? `-${option.short}, ` : '';
    lines.push(`  ${short}${flagName(key)}${placeholder(option)}`, `      ${option.help}${notes(option)}`);
  }
  lines.push('  --print-config', '      Print the effective configuration and exit.');
  lines.push('  -h, --help', '      Print this help and exit.', '  --version', '      Print the version and exit.');
  return `${lines.join('\n')}\n`;
}

/** The same as a Markdown table, for the documents; generated, so that both always agree. */
export function flagTable(options: OptionTable): string {
  const rows = Object.entries<Described>(options).map(([key, option]) => {
    const names = [`\`${flagName(key)}\``, ...(option.short ? [`\`-${option.short}\``] : [])];
    if (option.alias) names.push(`\`-${option.alias}\``);
    const env = option.env?.map((name) => `\`${name}\``).join(', ') ?? '';
    const cells = [names.join(', '), env, defaultOf(option), `${option.help}${choices(option)}`];
    return `| ${cells.map(escapeCell).join(' | ')} |`;
  });
  return ['| flag | environment | default | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

/** Angle brackets would be taken for HTML, but not in code. */
function escapeCell(cell: string): string {
  const parts = cell.replaceAll('|', '\\|').split(/(`[^`]*`)/);
  return parts
    .map((part, index) => (index % 2 === 1 ? part : part.replaceAll('<', '&lt;').replaceAll('>', '&gt;')))
    .join('');
}

function placeholder(option: Value): string {
  return { string: ' VALUE', boolean: '', number: ' N', list: ' A,B,…' }[option.type];
}

function notes(option: Described): string {
  const parts = [`default: ${defaultOf(option) || 'none'}`];
  if (option.env) parts.push(`environment: ${option.env.join(', ')}`);
  return `${choices(option)} (${parts.join('; ')})`;
}

function choices(option: Value): string {
  return option.type === 'string' && option.choices ? ` One of ${option.choices.join(', ')}.` : '';
}

function defaultOf(option: Described): string {
  if (option.defaultText !== undefined) return option.defaultText;
  if (option.default === undefined) return '';
  return Array.isArray(option.default) ? option.default.join(',') : String(option.default);
}
