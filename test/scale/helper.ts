import type { ChildProcess } from 'node:child_process';
import { killChild, spawnChild } from '../control-plane/child.ts';

type Reply<A> = { id: number } & ({ answer: A } | { error: string });

/** A process of the bench's own, so that what it does takes no time of the one that measures. It ends with that. */
export class Helper<Q, A> {
  readonly #child: ChildProcess;
  readonly #asked = new Map<number, { resolve: (answer: A) => void; reject: (error: Error) => void }>();
  #last = 0;

  /** `file` is a program that calls {@link answerQuestions}. */
  constructor(file: string) {
    this.#child = spawnChild(process.execPath, { args: [file], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.#child.on('message', (reply: Reply<A>) => {
      const waiting = this.#asked.get(reply.id);
      this.#asked.delete(reply.id);
      if ('error' in reply) waiting?.reject(new Error(reply.error));
      else waiting?.resolve(reply.answer);
    });
    this.#child.once('exit', () => {
      for (const { reject } of this.#asked.values()) reject(new Error(`${file} has ended`));
    });
  }

  /** Rejects with what went wrong there. */
  ask(question: Q): Promise<A> {
    this.#last += 1;
    const id = this.#last;
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
      this.#child.send({ id, question });
    });
  }

  stop(): Promise<void> {
    return killChild(this.#child);
  }
}

/** Answers what the process that started this one asks, several questions at a time. */
export function answerQuestions<Q, A>(answer: (question: Q) => Promise<A>): void {
  process.on('message', async ({ id, question }: { id: number; question: Q }) => {
    const reply = await answer(question).then(
      (answered) => ({ id, answer: answered }),
      (error: unknown) => ({ id, error: String(error) }),
    );
    process.send?.(reply);
  });
  // The parent process is gone.
  process.on('disconnect', () => process.exit());
}
