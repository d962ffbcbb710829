import { hash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { lstat, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isLabelKey } from '@rollcall/common/label-syntax.ts';
import { labelOfFile, parseRuleFile, type Refuse, type RuleProblem } from '../parse-rule-file.ts';
import type { FoundFile, Scan } from './scan.ts';

/** Bytes of a rule file. */
export const RULE_FILE_BYTES_MAX = 64 * 1024;
export const TOO_LARGE = `is larger than ${RULE_FILE_BYTES_MAX / 1024} KiB`;
/** Bytes of all rule files together, as much as a ConfigMap has. */
const RULES_BYTES_MAX = 1024 * 1024;

/** The text of a file, what is wrong with it, or that it is not there. */
type TextReading = { text: string } | { problem: string } | 'gone';

/** Reads a small regular file of UTF-8 text. It never throws, never waits for a pipe, and reads no more than it must. */
export async function readText(path: string): Promise<TextReading> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const bytes = Buffer.alloc(RULE_FILE_BYTES_MAX + 1);
      let length = 0;
      for (let read = -1; read !== 0 && length < bytes.length; length += read) {
        read = (await file.read(bytes, length, bytes.length - length)).bytesRead;
      }
      return decode(bytes.subarray(0, length));
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = errorCode(error);
    return code === 'ENOENT' ? 'gone' : { problem: `cannot be read (${code})` };
  }
}

function decode(bytes: Buffer): TextReading {
  if (bytes.length > RULE_FILE_BYTES_MAX) return { problem: TOO_LARGE };
  if (bytes.includes(0)) return { problem: 'is not a text file' };
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { problem: 'is not UTF-8 text' };
  }
}

/** The code of a failed system call, such as `EACCES`. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

/** Rule files that count, in the order of their paths. */
const RULE_FILES_MAX = 1000;

type Stat = Stats | 'gone' | { problem: string };

/** Reads a label directory, and parses only what changed since its last scan. */
export class TreeReader {
  readonly #root: string;
  readonly #refuse: Refuse;
  #last: ReadonlyMap<string, FoundFile> = new Map();

  /** `root` is absolute. */
  constructor(root: string, refuse: Refuse) {
    this.#root = root;
    this.#refuse = refuse;
  }

  /** Never throws: what cannot be read is in what it gives. */
  async scan(): Promise<Scan> {
    const visit = new Visit(this.#root, this.#refuse, this.#last);
    await visit.root();
    this.#last = visit.files;
    return visit;
  }
}

/** One scan, while it is made. */
class Visit implements Scan {
  readonly files = new Map<string, FoundFile>();
  readonly unlisted = new Map<string, string>();
  readonly problems: RuleProblem[] = [];
  readonly ignored: string[] = [];
  readonly #root: string;
  readonly #refuse: Refuse;
  readonly #last: ReadonlyMap<string, FoundFile>;
  #leftOut = 0;
  #bytes = 0;

  constructor(root: string, refuse: Refuse, last: ReadonlyMap<string, FoundFile>) {
    this.#root = root;
    this.#refuse = refuse;
    this.#last = last;
  }

  async root(): Promise<void> {
    const found = await statOf(this.#root);
    if (found === 'gone') this.unlisted.set('.', 'does not exist');
    else if ('problem' in found) this.unlisted.set('.', found.problem);
    else if (!found.isDirectory()) this.unlisted.set('.', 'is not a directory');
    else await this.#directory('.');
    if (this.#leftOut === 0) return;
    const problem = `has too many rule files: ${this.#leftOut} after the first ${RULE_FILES_MAX} are left out`;
    this.problems.push({ file: '.', problem });
  }

  async #directory(directory: string): Promise<void> {
    let names: string[];
    try {
      names = await readdir(join(this.#root, directory));
    } catch (error) {
      const code = errorCode(error);
      // A namespace that went away this very moment is gone; a label directory is an error in any case.
      if (code !== 'ENOENT' || directory === '.') this.unlisted.set(directory, `cannot be listed (${code})`);
      return;
    }
    for (const name of names.sort()) {
      const file = directory === '.' ? name : `${directory}/${name}`;
      if (!isIgnoredName(name)) await this.#entry(file);
      else if (this.ignored.length < IGNORED_MAX && BACKUP.test(name) && 'label' in labelOfFile(file, this.#refuse))
        this.ignored.push(file);
    }
  }

  async #entry(file: string): Promise<void> {
    const found = await statOf(join(this.#root, file));
    if (found === 'gone') {
      if (await isThere(join(this.#root, file))) await this.#danglingLink(file);
    } else if ('problem' in found) {
      await this.#file(file, found);
    } else if (!found.isDirectory()) {
      await this.#file(file, found);
    } else if (file.includes('/')) {
      this.#leaveOut(file, 'is a directory, and too deep: rule files are NAMESPACE/LABEL or LABEL');
    } else if (!isNamespace(file)) {
      this.#leaveOut(file, 'is a directory whose name is not a valid prefix of label keys');
    } else {
      await this.#directory(file);
    }
  }

  /**
   * Keeps the rules behind a broken link and reports it: its target may come back, for example when a volume was away.
   */
  async #danglingLink(file: string): Promise<void> {
    const problem = 'is a broken link';
    const mayBeFile = 'label' in labelOfFile(file, this.#refuse);
    if (!mayBeFile && isNamespace(file)) this.unlisted.set(file, problem);
    else await this.#file(file, { problem });
  }

  async #file(file: string, found: Stats | { problem: string }): Promise<void> {
    const named = labelOfFile(file, this.#refuse);
    if ('problem' in named) return this.#leaveOut(file, named.problem);
    if (!('problem' in found) && !found.isFile()) return this.#leaveOut(file, 'is not a regular file');
    if (this.files.size >= RULE_FILES_MAX) {
      this.#leftOut += 1;
      return;
    }
    if ('problem' in found) return this.#unreadable(file, named.label, found.problem);
    // One that is too large is not read.
    const bytes = found.size > RULE_FILE_BYTES_MAX ? 0 : found.size;
    if (this.#bytes + bytes > RULES_BYTES_MAX)
      return this.#leaveOut(file, `is left out: all rule files can have ${RULES_BYTES_MAX / 1024} KiB together`);
    this.#bytes += bytes;
    const reading = await readText(join(this.#root, file));
    if (reading === 'gone') return;
    if ('problem' in reading) return this.#unreadable(file, named.label, reading.problem);
    const fingerprint = hash('sha256', reading.text);
    const last = this.#last.get(file);
    if (last?.fingerprint === fingerprint) {
      this.files.set(file, last);
      return;
    }
    const { conditions, problems } = parseRuleFile(reading.text);
    const ofFile = problems.map((problem) => ({ file, ...problem }));
    this.files.set(file, { ...named, fingerprint, conditions, problems: ofFile });
  }

  #unreadable(file: string, label: string, fault: string): void {
    const problem = `${fault}; its label stays as it is`;
    const found = { label, fingerprint: `! ${fault}`, conditions: undefined };
    this.files.set(file, { ...found, problems: [{ file, problem }] });
  }

  #leaveOut(file: string, problem: string): void {
    this.problems.push({ file, problem });
  }
}

async function statOf(path: string): Promise<Stat> {
  try {
    return await stat(path);
  } catch (error) {
    const code = errorCode(error);
    return code === 'ENOENT' ? 'gone' : { problem: `cannot be read (${code})` };
  }
}

function isNamespace(name: string): boolean {
  return isLabelKey(`${name}/label`);
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** Ends of the names of files that people keep; other ignored names are names that editors use for a moment. */
const BACKUP = /\.(?:tmp|temp|bak|backup|orig|rej|old|part)$/i;
/** Files that are told, of those that are ignored. */
const IGNORED_MAX = 100;

/**
 * Names that editors, copying programs and kubelets use for what is not there to stay, or is not for others to read. A
 * `4913` is how vim tries whether it may write. Everything that begins with a dot is among them, `..data` included.
 */
const IGNORED = [
  /^\./,
  /~$/,
  BACKUP,
  /\.sw[a-z]$/i,
  /\.(?:dpkg|rpm|ucf)-?[a-z]+$/,
  /^#.*#$/,
  /___jb_(?:tmp|old)___$/,
  /^4913$/,
  /^lost\+found$/,
];

export function isIgnoredName(name: string): boolean {
  return IGNORED.some((pattern) => pattern.test(name));
}
