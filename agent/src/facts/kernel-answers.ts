import { type Clock, sleep } from '@rollcall/common/clock.ts';
import type { KernelFiles } from './kernel-files.ts';

/** Modules are loaded and unloaded while the machine runs; the flags of its processors stay as they are. */
const PERIOD_MS = 1000;

export type KernelAnswersOptions = {
  files: KernelFiles;
  clock: Clock;
  signal: AbortSignal;
  /** Called when there is another answer. */
  onChange: () => void;
};

type Question = { kind: 'module' | 'cpu'; name: string };

/**
 * What the coordinator asks about the kernel and the processors, answered: it asks for what its rules name, so that no
 * list of hundreds of modules, which changes by itself, is in any report.
 */
export class KernelAnswers {
  readonly #options: KernelAnswersOptions;
  #questions: ReadonlyMap<string, Question> = new Map();
  #asked = '';
  #answers: Readonly<Record<string, boolean>> = {};

  constructor(options: KernelAnswersOptions) {
    this.#options = options;
  }

  /** Looks again every second, until the signal aborts. */
  async run(): Promise<void> {
    const { clock, signal } = this.#options;
    while (!signal.aborted) {
      if (this.#questions.size > 0) this.#look();
      await sleep(clock, PERIOD_MS, signal);
    }
  }

  /** Takes the place of what was asked before. What cannot be understood stays without an answer. */
  ask(questions: readonly string[]): void {
    const asked = JSON.stringify(questions);
    if (asked === this.#asked) return;
    this.#asked = asked;
    this.#questions = new Map(questions.map(toQuestion).filter((each) => each !== undefined));
    this.#look();
  }

  /** By question. What cannot be told is left out. */
  answers(): Readonly<Record<string, boolean>> {
    return this.#answers;
  }

  #look(): void {
    const answers: Record<string, boolean> = {};
    for (const [text, { kind, name }] of this.#questions) {
      const { files } = this.#options;
      const answer = kind === 'module' ? files.hasModule(name) : files.hasCpuFlag(name);
      if (answer !== undefined) answers[text] = answer;
    }
    if (JSON.stringify(answers) === JSON.stringify(this.#answers)) return;
    this.#answers = answers;
    this.#options.onChange();
  }
}

function toQuestion(text: string): [string, Question] | undefined {
  const [, kind, name] = /^(module|cpu):([A-Za-z0-9_.-]{1,63})$/.exec(text) ?? [];
  // These two would lead elsewhere than to a module.
  if (kind === undefined || name === undefined || /^\.+$/.test(name)) return undefined;
  return [text, { kind: kind as Question['kind'], name }];
}
