import { connect } from 'node:net';
import { join } from 'node:path';

export type Inside = {
  /** Longest since it was asked before, by which the event loop was late. */
  lagMs: number;
  /** After a garbage collection. */
  heapMiB: number;
  handles: number;
};

/** Asks a program of what it knows of itself, and steps its clock where told. Rejects where it does not answer. */
export function askInside(dir: string, name: string, question: { clockOffsetMs?: number } = {}): Promise<Inside> {
  return new Promise((resolve, reject) => {
    const socket = connect(join(dir, `${name}.sock`));
    socket.setTimeout(3000, () => socket.destroy(new Error(`${name} does not answer`)));
    let answer = '';
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      answer += text;
    });
    // A program that is killed meanwhile ends the connection without an answer.
    socket.on('end', () =>
      answer === '' ? reject(new Error(`${name} did not answer`)) : resolve(JSON.parse(answer) as Inside),
    );
    socket.on('error', reject);
    socket.write(JSON.stringify(question));
  });
}
