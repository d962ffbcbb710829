import { VERSION } from '@rollcall/common/version.ts';
import { Command, InvalidArgumentError, Option } from 'commander';
import { audit } from './commands/audit.ts';
import { check } from './commands/check.ts';
import { openPage } from './commands/console.ts';
import { diff } from './commands/diff.ts';
import { type StatusFlags, status } from './commands/status.ts';
import { why } from './commands/why.ts';
import { EXIT } from './failure.ts';
import { QUESTIONS } from './status/status-of.ts';
import { type CommonFlags, type Streams, type Surroundings, surroundingsOf } from './surroundings.ts';
import type { Terminal } from './text/page.ts';
import { parseDuration } from './text/parse-duration.ts';

const WAIT_DEFAULT = '5m';

const EXIT_CODES = `
Exit codes: ${EXIT.ok} everything is as it should be; ${EXIT.notSo} something is not; ${EXIT.usage} the command line is wrong; ${EXIT.unknown} the state is unknown.`;

export type ProgramOptions = {
  terminal: Terminal;
  streams: Streams;
  /** How the program is called: as a plugin of kubectl, or by its own name. */
  name: string;
  signal: AbortSignal;
  onExit: (code: number) => void;
};

/** The command line. Each command tells `onExit` what to end with, or throws. */
export function createProgram(options: ProgramOptions): Command {
  const { terminal, streams, name, signal, onExit } = options;
  const program = new Command(name)
    .description('Shows what rollcall knows about the nodes of a cluster, and why.')
    .version(VERSION, '--version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: streams.print,
      writeErr: streams.note,
      getOutHelpWidth: () => terminal.columns ?? 100,
      getErrHelpWidth: () => terminal.columns ?? 100,
    })
    .showHelpAfterError(`(see ${name} --help)`)
    .addHelpText('after', EXIT_CODES);

  const run = (work: (surroundings: Surroundings) => Promise<number>) => async (flags: CommonFlags) =>
    onExit(await work(surroundingsOf(flags, terminal, streams, signal)));

  const add = (command: string, summary: string, examples: readonly string[]) =>
    withCommonFlags(program.command(command).description(summary)).addHelpText('after', exampleText(name, examples));

  add('status', 'Shows whether the work of rollcall is done, and whether services are ready, by pool and service.', [
    'status',
    'status --wait                  # a gate: wait until both are so, at most 5 minutes',
    'status --wait=90s',
    'status --wait --only=rollcall  # whatever services do',
    'status -o json | jq .pools',
  ])
    .addOption(
      new Option('--wait [timeout]', `wait until the answer is yes, up to this time (${WAIT_DEFAULT})`)
        .preset(WAIT_DEFAULT)
        .argParser(waitOf),
    )
    .addOption(new Option('--only <question>', 'ask only about this').choices(QUESTIONS))
    .action((flags: CommonFlags & StatusFlags) => run((surroundings) => status(surroundings, flags))(flags));

  add('why', 'Explains why a key is on a node or not, a service is ready or not, or on which nodes a pod may run.', [
    'why node/node-1',
    'why node/node-1 gitpod.io/ws-daemon_ready_ns_default',
    'why nodeservice/ebs-csi',
    'why pod/default/ws-1234',
  ])
    .argument('<subject>', 'node/NAME, nodeservice/NAME or pod/NAMESPACE/NAME')
    .argument('[key]', 'a label, annotation or taint of the node')
    .action((subject: string, key: string | undefined, flags: CommonFlags) =>
      run((surroundings) => why(surroundings, subject, key))(flags),
    );

  add('audit', 'Prints the truth ledger: for how long nodes contradicted the evidence.', [
    'audit',
    'audit -o wide',
  ]).action(run(audit));

  add('check', 'Finds problems that prevent rollcall from working, each with its fix.', [
    'check --pre          # before it is installed',
    'check -n rollcall',
  ])
    .option('--pre', 'check a cluster that has no rollcall yet', false)
    .action((flags: CommonFlags & { pre: boolean }) => run((surroundings) => check(surroundings, flags.pre))(flags));

  add('diff', 'Shows how objects or rule files would change the fleet, before you apply them.', [
    'diff -f nodeservice.yaml',
    'diff -f pools.yaml -f rules/accelerators/edgetpu',
    'diff -f -            # objects on standard input',
  ])
    .requiredOption('-f, --filename <file...>', 'NodeServices, NodePoolLabels, NodePoolLabelSets, or rule files')
    .action((flags: CommonFlags & { filename: string[] }) =>
      run((surroundings) => diff(surroundings, flags.filename))(flags),
    );

  add('console', 'Opens the page of the console in the browser.', ['console', 'console --port 8090 --no-browser'])
    .option('--port <port>', 'local port (default: any free port)', portOf)
    .option('--no-browser', 'only print the address')
    .action((flags: CommonFlags & { port?: number; browser: boolean }) =>
      run((surroundings) => openPage(surroundings, { ...flags, signal }))(flags),
    );
  return program;
}

function withCommonFlags(command: Command): Command {
  const consoleUrl = new Option('--console-url <url>', 'URL of a console to ask without a port-forward').argParser(
    urlOf,
  );
  // It asks no console, so its help does not show the option.
  if (command.name() === 'check') consoleUrl.hideHelp();
  return command
    .option('-n, --namespace <namespace>', 'namespace of rollcall', 'rollcall')
    .option('--context <name>', 'context of the kubeconfig')
    .option('--kubeconfig <file>', 'path of the kubeconfig (default: as kubectl finds it)')
    .addOption(consoleUrl)
    .addOption(new Option('-o, --output <format>', 'output format').choices(['wide', 'json', 'yaml']));
}

function exampleText(name: string, examples: readonly string[]): string {
  return `\nExamples:\n${examples.map((example) => `  ${name} ${example}`).join('\n')}\n${EXIT_CODES}`;
}

function waitOf(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('Use a duration such as 90s, 5m or 1h.');
  return ms;
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError('Use a number from 0 to 65535.');
  return port;
}

function urlOf(text: string): string {
  const url = URL.parse(text);
  if (url?.protocol !== 'http:') throw new InvalidArgumentError('Use http://HOST:PORT.');
  return text;
}
