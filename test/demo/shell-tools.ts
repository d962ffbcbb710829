import { writeFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { removeDirOnExit } from '../control-plane/child.ts';
import type { RigCluster } from '../rig/cluster.ts';
import { PLUGIN } from '../rig/run-plugin.ts';

/** The documents of the console are asked for by these commands; no kubelet runs that could forward a port. */
const ASKING = 'status|why|diff|audit|console';

/** How kubectl calls what completes words for the plugin. */
const COMPLETION_NAME = 'kubectl_complete-rollcall';

/** What a person needs in another terminal: kubectl with the cluster of the demo, `kubectl rollcall` with its completion, and this Node.js. */
export class ShellTools {
  readonly #dir: string;

  private constructor(dir: string) {
    this.#dir = dir;
  }

  static async write({ kubectlPath, kubeconfig }: Pick<RigCluster, 'kubectlPath' | 'kubeconfig'>): Promise<ShellTools> {
    const dir = await mkdtemp(path.join(tmpdir(), 'rollcall-tools-'));
    removeDirOnExit(dir);
    const tools = new ShellTools(dir);
    const bin = path.join(dir, 'bin');
    await mkdir(bin);
    if (path.isAbsolute(kubectlPath)) await symlink(kubectlPath, path.join(bin, 'kubectl'));
    const asking = `case "$1" in ${ASKING}) set -- "$@" --console-url="$(cat "${tools.#consoleFile}")" ;; esac\n`;
    for (const [name, before] of Object.entries({ 'kubectl-rollcall': asking, [COMPLETION_NAME]: '' })) {
      // By its name it knows how it is called.
      const named = path.join(dir, name);
      await symlink(PLUGIN, named);
      const script = path.join(bin, name);
      await writeFile(script, `#!/bin/sh\n${before}exec "${process.execPath}" "${named}" "$@"\n`);
      await chmod(script, 0o755);
    }
    const paths = [bin, path.dirname(process.execPath)].join(':');
    await writeFile(tools.file, `export KUBECONFIG="${kubeconfig}" PATH="${paths}:$PATH"\n`);
    return tools;
  }

  /** The file to read into a shell. */
  get file(): string {
    return path.join(this.#dir, 'env');
  }

  get #consoleFile(): string {
    return path.join(this.#dir, 'console');
  }

  /** From now on the plugin asks this console. */
  ask(consoleUrl: string): void {
    writeFileSync(this.#consoleFile, consoleUrl.replace(/\/$/, ''));
  }

  remove(): Promise<void> {
    return rm(this.#dir, { recursive: true, force: true });
  }
}
