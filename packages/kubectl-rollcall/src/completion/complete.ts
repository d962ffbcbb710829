import type { KubeConfig } from '@kubernetes/client-node';
import type { Argument, Command, Option } from 'commander';
import { KubeApi } from '../cluster/kube-api.ts';
import { type ClusterFlags, loadKubeConfig } from '../cluster/kube-config.ts';

/** How kubectl calls the program that completes words for this plugin; it is the plugin by another name. */
export const COMPLETION_NAME = 'kubectl_complete-rollcall';

/** Directives to the shell, as cobra numbers them; together they are a sum. */
const DIRECTIVE = { files: 0, noSpace: 2, noFiles: 4 } as const;

/** Names are for a person who waits: no more than these. */
const NAMES_MAX = 500;

type Completion = { words: readonly string[]; directive: number };
type List = (flags: ClusterFlags) => Promise<readonly string[]>;
type NameList = { items: { metadata: { name: string } }[] };

/** What may follow on a command line of `program`, of which the last word is not complete, as kubectl reads it. */
export async function complete(program: Command, line: readonly string[]): Promise<string> {
  const { words, directive } = await completionOf(program, line).catch(() => ({
    words: [],
    directive: DIRECTIVE.noFiles,
  }));
  return [...words, `:${directive}`].map((word) => `${word}\n`).join('');
}

async function completionOf(program: Command, line: readonly string[]): Promise<Completion> {
  const typed = line.at(-1) ?? '';
  const { command, values, flags, open } = read(program, line.slice(0, -1));
  if (open) return ofOption(open, typed, flags);
  const [name = '', value] = typed.split(/=(.*)/s);
  const option = value === undefined ? undefined : optionOf(command, name);
  if (option && value !== undefined) {
    const { words, directive } = await ofOption(option, value, flags);
    return { words: words.map((word) => `${name}=${word}`), directive };
  }
  if (typed.startsWith('-')) return noFiles(beginning(typed, optionsOf(command).map(described)));
  if (command === program) return noFiles(beginning(typed, program.commands.map(describedCommand)));
  const argument = command.registeredArguments[values.length];
  return argument ? ofArgument(argument, typed, flags) : noFiles([]);
}

type ReadLine = { command: Command; values: string[]; flags: Record<string, string>; open: Option | undefined };

/** What the words before the last say. `open`: the option whose value is next. */
function read(program: Command, words: readonly string[]): ReadLine {
  const line: ReadLine = { command: program, values: [], flags: {}, open: undefined };
  for (const word of words) {
    const [name = '', value] = word.split(/=(.*)/s);
    const option = word.startsWith('-') ? optionOf(line.command, name) : undefined;
    if (line.open) {
      line.flags[line.open.attributeName()] = word;
      line.open = undefined;
    } else if (option && value !== undefined) line.flags[option.attributeName()] = value;
    else if (option?.required) line.open = option;
    else if (option || word.startsWith('-')) continue;
    else if (line.command === program) line.command = program.commands.find((each) => each.name() === word) ?? program;
    else line.values.push(word);
  }
  return line;
}

function optionOf(command: Command, name: string): Option | undefined {
  return command.options.find(({ short, long }) => short === name || long === name);
}

function optionsOf(command: Command): readonly Option[] {
  return command.createHelp().visibleOptions(command);
}

/** kubectl shows what follows the tab beside the word. */
const described = ({ long, short, description }: Option) => `${long ?? short}\t${description}`;
const describedCommand = (command: Command) => `${command.name()}\t${command.description()}`;

const VALUES: Readonly<Record<string, List>> = {
  namespace: named('/api/v1/namespaces'),
  context: async (flags) =>
    config(flags)
      .getContexts()
      .map(({ name }) => name),
};

async function ofOption(option: Option, typed: string, flags: ClusterFlags): Promise<Completion> {
  const list = VALUES[option.attributeName()];
  const words = option.argChoices ?? (await list?.(flags));
  return words ? noFiles(beginning(typed, words)) : { words: [], directive: DIRECTIVE.files };
}

/** What can be asked about, by how it begins. */
const SUBJECTS: Readonly<Record<string, List>> = {
  'node/': named('/api/v1/nodes'),
  'nodeservice/': named('/apis/rollcall.dev/v1alpha1/nodeservices'),
  'pod/': named('/api/v1/namespaces'),
};

async function ofArgument(argument: Argument, typed: string, flags: ClusterFlags): Promise<Completion> {
  if (argument.name() !== 'subject') return noFiles([]);
  const pods = /^pod\/([^/]+)\//.exec(typed);
  const begun = pods?.[0] ?? Object.keys(SUBJECTS).find((each) => typed.startsWith(each));
  if (begun === undefined) return unfinished(beginning(typed, Object.keys(SUBJECTS)));
  const list = pods ? named(`/api/v1/namespaces/${pods[1]}/pods`) : SUBJECTS[begun];
  const words = ((await list?.(flags)) ?? []).map((name) => `${begun}${name}`);
  return begun === 'pod/'
    ? unfinished(
        beginning(
          typed,
          words.map((word) => `${word}/`),
        ),
      )
    : noFiles(beginning(typed, words));
}

function noFiles(words: readonly string[]): Completion {
  return { words, directive: DIRECTIVE.noFiles };
}

/** More of the word follows. */
function unfinished(words: readonly string[]): Completion {
  return { words, directive: DIRECTIVE.noFiles + DIRECTIVE.noSpace };
}

function beginning(typed: string, words: readonly string[]): readonly string[] {
  return words.filter((word) => word.startsWith(typed));
}

/** Names of the objects at this path. */
function named(path: string): List {
  return async (flags) => {
    const { items } = await new KubeApi(config(flags)).get<NameList>(`${path}?limit=${NAMES_MAX}`);
    return items.map(({ metadata }) => metadata.name);
  };
}

function config({ kubeconfig, context }: ClusterFlags): KubeConfig {
  return loadKubeConfig({ kubeconfig, context });
}
