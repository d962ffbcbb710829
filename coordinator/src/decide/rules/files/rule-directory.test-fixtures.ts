import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readlink, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Clock, systemClock } from '@rollcall/common/clock.ts';
import { pino } from 'pino';
import { inventory } from '../../../model/inventory/inventory.test-fixtures.ts';
import type { RuleSet } from '../rule-set.ts';
import { RuleDirectory } from './rule-directory.ts';

/** A label directory of its own, with what is needed to change it and to see what came of it. */
export class RuleDirectoryFixture {
  readonly base: string;
  readonly root: string;
  readonly changes: string[][] = [];
  readonly lines: { level: string; msg: string; files?: string[] }[] = [];
  readonly stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #directory: RuleDirectory | undefined;

  private constructor(base: string) {
    this.base = base;
    this.root = join(base, 'labels');
  }

  static async create(): Promise<RuleDirectoryFixture> {
    const fixture = new RuleDirectoryFixture(await mkdtemp(join(tmpdir(), 'rollcall-rules-')));
    await mkdir(fixture.root);
    return fixture;
  }

  async write(files: Readonly<Record<string, string | Uint8Array>>, under = this.root): Promise<void> {
    for (const [file, content] of Object.entries(files)) {
      await mkdir(dirname(join(under, file)), { recursive: true });
      await writeFile(join(under, file), content);
    }
  }

  async open({ path = this.root, clock = systemClock }: { path?: string; clock?: Clock } = {}): Promise<RuleDirectory> {
    const logger = pino(
      { formatters: { level: (level) => ({ level }) } },
      { write: (line: string) => this.lines.push(JSON.parse(line)) },
    );
    const refuse = (label: string) => (label.startsWith('gitpod.io/') ? 'is reserved' : undefined);
    this.#directory = await RuleDirectory.open({ path, refuse, clock, logger });
    return this.#directory;
  }

  /** Opens and follows. `changes` takes the labels that there are rules for, once a change. */
  async follow(options?: { path?: string; clock?: Clock }): Promise<RuleDirectory> {
    const directory = await this.open(options);
    this.#running = directory.run(this.stop.signal, (rules: RuleSet) => this.changes.push([...rules.labels.keys()]));
    return directory;
  }

  get labels(): string[] {
    return [...(this.#directory?.ruleSet.labels.keys() ?? [])];
  }

  get problems(): string[] {
    return (this.#directory?.problems() ?? []).map(
      ({ file, line, column, problem }) =>
        `${file}:${line ?? ''}${column === undefined ? '' : `:${column}`} ${problem}`,
    );
  }

  /** The labels of a node with all of these. */
  implied(...keys: string[]): string[] {
    const labels = Object.fromEntries(keys.map((key) => [key, 'true']));
    return [...(this.#directory?.ruleSet.evaluate(labels, inventory()).implied.keys() ?? [])];
  }

  async close(): Promise<void> {
    this.stop.abort();
    await this.#running;
    await rm(this.base, { recursive: true, force: true });
  }
}

let writes = 0;

/**
 * Puts files into a volume as a kubelet's AtomicWriter does: a new directory, a link to it that takes the place of the
 * old one in one step, and then the links that users see.
 */
export async function publish(volume: string, files: Readonly<Record<string, string>>): Promise<void> {
  writes += 1;
  const version = `..2026_01_01_00_00_00.${writes}`;
  await mkdir(volume, { recursive: true });
  for (const [file, content] of Object.entries(files)) {
    await mkdir(dirname(join(volume, version, file)), { recursive: true });
    await writeFile(join(volume, version, file), content);
  }
  await mkdir(join(volume, version), { recursive: true });
  const before = await readlink(join(volume, '..data')).catch(() => undefined);
  await symlink(version, join(volume, '..data_tmp'));
  await rename(join(volume, '..data_tmp'), join(volume, '..data'));
  const wanted = new Set(Object.keys(files).map((file) => file.split('/')[0] ?? ''));
  const visible = (await readdir(volume)).filter((name) => !name.startsWith('..'));
  for (const name of wanted) if (!visible.includes(name)) await symlink(join('..data', name), join(volume, name));
  for (const name of visible) if (!wanted.has(name)) await unlink(join(volume, name));
  if (before !== undefined) await rm(join(volume, before), { recursive: true });
}

const MAKE_PIPE = 'mkfifo';

export function makePipe(path: string): void {
  execFileSync(MAKE_PIPE, [path]);
}
