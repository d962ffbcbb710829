import type { Clock } from '@rollcall/common/clock.ts';
import { guarded } from '@rollcall/common/guarded.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { FeatureFiles } from './feature-files.ts';
import type { KernelFiles } from './kernel-files.ts';
import type { FeatureSets } from './parse-features.ts';

/** Modules and feature files come and go while the machine runs; the flags of its processors stay as they are. */
const PERIOD_MS = 1000;
/** A directory of feature files that takes longer, as one on a mount that hangs, tells nothing. */
const READ_MS_MAX = 1000;
/** So that no file makes a report too large; no value of a label is as long. */
const VALUE_LENGTH_MAX = 128;

export type AnswersOptions = {
  kernel: KernelFiles;
  /** The directory of feature files. */
  features: FeatureFiles | undefined;
  clock: Clock;
  logger: Logger;
  signal: AbortSignal;
  /** Called when there is another answer. */
  onChange: () => void;
};

type Question = { kind: 'module' | 'cpu' | keyof FeatureSets; name: string };

/** By question. What cannot be told is left out of `answers`; `values` has what is there and has one. */
export type Answered = {
  answers: Readonly<Record<string, boolean>>;
  values: Readonly<Record<string, string>>;
};

/**
 * What the coordinator asks about the kernel, the processors and feature files, answered: it asks for what its rules name,
 * so that no list of hundreds of modules, which changes by itself, is in any report.
 */
export class Answers {
  readonly #options: AnswersOptions;
  #questions: ReadonlyMap<string, Question> = new Map();
  #asked = '';
  /** What the feature files said last; `undefined` where that cannot be told. */
  #sets: FeatureSets | undefined;
  #isReading = false;
  #isWaiting = false;
  #answered: Answered = { answers: {}, values: {} };

  constructor(options: AnswersOptions) {
    this.#options = options;
  }

  /**
   * Takes the place of what was asked before. What cannot be understood stays without an answer. What feature files say
   * is answered when they have been read, if nothing asked for them before.
   */
  ask(questions: readonly string[]): void {
    const asked = JSON.stringify(questions);
    if (asked === this.#asked) return;
    this.#asked = asked;
    this.#questions = new Map(questions.map(toQuestion).filter((each) => each !== undefined));
    this.#look();
    if (!this.#isWaiting) this.#wait();
  }

  answered(): Answered {
    return this.#answered;
  }

  /** Looks again every second while something is asked, until the signal aborts. */
  #wait(): void {
    const { clock, logger, signal } = this.#options;
    this.#isWaiting = this.#questions.size > 0 && !signal.aborted;
    if (!this.#isWaiting) return;
    clock.after(PERIOD_MS, () => {
      if (!signal.aborted) guarded(logger, 'answers', () => this.#look());
      this.#wait();
    });
  }

  #look(): void {
    if (this.#asksFeatures()) this.#readFeatures();
    else this.#sets = undefined;
    this.#answerAll();
  }

  #asksFeatures(): boolean {
    return this.#questions.values().some(({ kind }) => kind === 'label' || kind === 'feature');
  }

  /** Reads the feature files, unless a read is under way. What they said before counts until it has ended. */
  #readFeatures(): void {
    const { features, clock, logger } = this.#options;
    if (!features || this.#isReading) return;
    this.#isReading = true;
    const limit = new AbortController();
    const cancel = clock.after(READ_MS_MAX, () => limit.abort());
    void features.read(limit.signal).then((sets) => {
      cancel();
      this.#isReading = false;
      this.#sets = this.#asksFeatures() ? sets : undefined;
      guarded(logger, 'answers', () => this.#answerAll());
    });
  }

  #answerAll(): void {
    const answers: Record<string, boolean> = {};
    const values: Record<string, string> = {};
    for (const [text, question] of this.#questions) {
      const found = this.#answer(question);
      if (found !== undefined) answers[text] = found !== false;
      if (typeof found === 'string') values[text] = found.slice(0, VALUE_LENGTH_MAX);
    }
    const answered = { answers, values };
    if (JSON.stringify(answered) === JSON.stringify(this.#answered)) return;
    this.#answered = answered;
    this.#options.onChange();
  }

  #answer({ kind, name }: Question): string | boolean | undefined {
    const { kernel } = this.#options;
    if (kind === 'module') return kernel.hasModule(name);
    if (kind === 'cpu') return kernel.hasCpuFlag(name);
    return this.#sets && (this.#sets[kind].get(name) ?? false);
  }
}

function toQuestion(text: string): [string, Question] | undefined {
  const [, set, key] = /^nfd:local\.(label|feature)\.(\S{1,120})$/.exec(text) ?? [];
  if (key !== undefined) return [text, { kind: set as keyof FeatureSets, name: key }];
  const [, kind, name] = /^(module|cpu):([A-Za-z0-9_.-]{1,63})$/.exec(text) ?? [];
  // These two would lead elsewhere than to a module.
  if (kind === undefined || name === undefined || /^\.+$/.test(name)) return undefined;
  return [text, { kind: kind as Question['kind'], name }];
}
