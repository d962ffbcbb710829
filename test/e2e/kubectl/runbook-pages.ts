import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { WS_DAEMON_READY } from '../../rig/embedded-rig.ts';
import { PLUGIN } from '../../rig/run-plugin.ts';

export const DEPLOY = path.resolve(import.meta.dirname, '../../../deploy');
const RUNBOOKS = path.resolve(import.meta.dirname, '../../../packages/docs/how-to/runbooks');

export type Outcome = { code: number; out: string; err: string };

/** The runbooks, and a shell that has kubectl and the plugin in its PATH, to run their commands as they stand. */
export class RunbookPages {
  /** Texts of the runbooks, by alert name. */
  readonly texts: ReadonlyMap<string, string>;
  readonly #kubeconfig: string;
  readonly #dir: string;
  /** URL of the leader's console, for the plugin: no kubelet runs, so it cannot forward a port. */
  consoleUrl = '';

  private constructor(texts: ReadonlyMap<string, string>, kubeconfig: string, dir: string) {
    this.texts = texts;
    this.#kubeconfig = kubeconfig;
    this.#dir = dir;
  }

  static async open({ binaries, kubeconfig }: ControlPlane): Promise<RunbookPages> {
    const dir = await mkdtemp(path.join(tmpdir(), 'rollcall-runbooks-'));
    const bin = path.join(dir, 'bin');
    await mkdir(bin);
    await symlink(binaries.kubectl, path.join(bin, 'kubectl'));
    const plugin = path.join(bin, 'kubectl-rollcall');
    await writeFile(plugin, `#!/bin/sh\nexec "${process.execPath}" "${PLUGIN}" "$@" --console-url="$CONSOLE_URL"\n`);
    await chmod(plugin, 0o755);
    const names = (await readdir(RUNBOOKS)).filter((name) => name.endsWith('.md'));
    const read = async (name: string) =>
      [name.replace('.md', ''), await readFile(path.join(RUNBOOKS, name), 'utf8')] as const;
    return new RunbookPages(new Map(await Promise.all(names.map(read))), kubeconfig, dir);
  }

  close(): Promise<void> {
    return rm(this.#dir, { recursive: true, force: true });
  }

  text(runbook: string): string {
    return this.texts.get(runbook) ?? '';
  }

  /** Every command in code font that begins with kubectl. */
  commands(): { runbook: string; command: string }[] {
    return [...this.texts].flatMap(([runbook, text]) =>
      [...text.matchAll(/`(kubectl [^`]+)`|^(kubectl .*)$/gm)].map(([, code, line]) => ({
        runbook,
        command: code ?? line ?? '',
      })),
    );
  }

  command(runbook: string, pattern: RegExp): string {
    const found = this.commands().find((each) => each.runbook === runbook && pattern.test(each.command));
    if (!found) throw new Error(`${runbook} has no command like ${pattern}`);
    return found.command;
  }

  /** Runs a command as it stands, with the placeholders filled in. */
  run(command: string, names: Record<string, string> = {}): Promise<Outcome> {
    const all = { NODE: 'node-1', POD: 'rollcall-agent-node-1', KEY: WS_DAEMON_READY, SERVICE: 'service1', ...names };
    let text = command.replace('npl NAME', 'npl pool1').replace('node/NAME', 'node/NODE');
    text = text.replace('nodeservice NAME', 'nodeservice SERVICE');
    for (const [name, value] of Object.entries(all)) text = text.replace(new RegExp(`\\b${name}\\b`, 'g'), value);
    const env = {
      PATH: `${path.join(this.#dir, 'bin')}:/usr/bin:/bin`,
      HOME: this.#dir,
      KUBECONFIG: this.#kubeconfig,
      CONSOLE_URL: this.consoleUrl.replace(/\/$/, ''),
    };
    return new Promise((resolve) => {
      execFile('/bin/sh', ['-c', text], { env }, (error, out, err) =>
        resolve({ code: error ? Number(error.code) : 0, out, err }),
      );
    });
  }
}
