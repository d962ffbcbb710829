import { homedir } from 'node:os';
import { join } from 'node:path';

/** What this room takes from the machine it runs on; tests hand in their own. */
export interface Environment {
  /** Directory of ready-made binaries, by the convention of kubebuilder's envtest. */
  readonly assetsDir: string | undefined;
  /** Parent of the directories that hold downloaded and built binaries. */
  readonly cacheRoot: string;
  /** `linux` or `darwin`; other systems have no pinned downloads. */
  readonly os: string;
  /** `amd64` or `arm64`, in Go's words. */
  readonly arch: string;
  /** The Go command: a name to look up on PATH, or a path. */
  readonly goCommand: string;
  /** Variables for child processes, and for the proxy settings of downloads. */
  readonly variables: NodeJS.ProcessEnv;
}

/** Reads the process's environment; the only place in this room that does. */
export function readEnvironment(): Environment {
  // biome-ignore lint/style/noProcessEnv: this is where the room's settings come in
  const variables = process.env;
  const cacheHome = variables['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  return {
    assetsDir: variables['KUBEBUILDER_ASSETS'] || undefined,
    cacheRoot: join(cacheHome, 'rollcall', 'control-plane'),
    os: process.platform,
    arch: process.arch === 'x64' ? 'amd64' : process.arch,
    goCommand: 'go',
    variables,
  };
}
