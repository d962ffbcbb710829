import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLogger } from '@rollcall/common/logging.ts';
import { FakeClock } from '@rollcall/common/testing/fake-clock.ts';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { PathTurns } from '../path-turns.ts';
import { Answers } from './answers.ts';
import { type FeatureFiles, openFeatureFiles } from './feature-files.ts';
import { openKernelFiles } from './kernel-files.ts';
import type { FeatureSets } from './parse-features.ts';

let root: string;
let clock: FakeClock;
let life: AbortController;
let answers: Answers;
/** Of the feature files; that which was begun last. */
let reading: Promise<unknown>;
const onChange = vi.fn();

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'rollcall-kernel-'));
  mkdirSync(path.join(root, 'sys/module/apex'), { recursive: true });
  mkdirSync(path.join(root, 'proc'));
  clock = new FakeClock();
  life = new AbortController();
  onChange.mockClear();
  const kernel = openKernelFiles({ sysfsRoot: path.join(root, 'sys'), procfsRoot: path.join(root, 'proc') });
  const features = openFeatureFiles(path.join(root, 'features.d'), clock, new PathTurns());
  reading = Promise.resolve();
  const read: FeatureFiles['read'] = (signal) => {
    const sets = features.read(signal);
    reading = sets;
    return sets;
  };
  answers = new Answers({ kernel, features: { read }, clock, logger: silentLogger(), signal: life.signal, onChange });
});

afterEach(() => {
  life.abort();
  rmSync(root, { recursive: true });
});

function cpuinfo(text: string): void {
  writeFileSync(path.join(root, 'proc/cpuinfo'), text);
}

describe('answers about modules', () => {
  test('say which of those asked for are there, in whichever spelling', () => {
    mkdirSync(path.join(root, 'sys/module/vfio_pci'));
    answers.ask(['module:apex', 'module:vfio-pci', 'module:nvidia']);
    expect(answers.answered().answers).toEqual({
      'module:apex': true,
      'module:vfio-pci': true,
      'module:nvidia': false,
    });
    expect(onChange).toHaveBeenCalledTimes(1);
  });

  test('follow the kernel within a second, and notify the reporter', async () => {
    answers.ask(['module:apex']);
    onChange.mockClear();
    await clock.advance(10_000);
    expect(onChange).not.toHaveBeenCalled();
    rmSync(path.join(root, 'sys/module/apex'), { recursive: true });
    await clock.advance(1000);
    expect(answers.answered().answers).toEqual({ 'module:apex': false });
    expect(onChange).toHaveBeenCalledTimes(1);
  });

  test('are looked for once where the same is asked again, as in every reply', () => {
    const hasModule = vi.fn(() => true);
    const kernel = { hasModule, hasCpuFlag: () => undefined };
    const counted = new Answers({
      kernel,
      features: undefined,
      clock,
      logger: silentLogger(),
      signal: life.signal,
      onChange,
    });
    for (let reply = 0; reply < 5; reply += 1) counted.ask(['module:apex']);
    expect(hasModule).toHaveBeenCalledTimes(1);
    counted.ask(['module:apex', 'module:other']);
    expect(hasModule).toHaveBeenCalledTimes(3);
  });

  test('stay as they were where looking again fails unexpectedly, and are looked for later', async () => {
    let isOdd = false;
    const hasModule = () => {
      if (isOdd) throw new RangeError('Maximum call stack size exceeded');
      return true;
    };
    const kernel = { hasModule, hasCpuFlag: () => undefined };
    const logger = silentLogger();
    const odd = new Answers({ kernel, features: undefined, clock, logger, signal: life.signal, onChange });
    odd.ask(['module:apex']);
    isOdd = true;
    await clock.advance(2000);
    expect(odd.answered().answers).toEqual({ 'module:apex': true });
    isOdd = false;
    await clock.advance(1000);
    expect(odd.answered().answers).toEqual({ 'module:apex': true });
  });

  test('are missing where they cannot be read', () => {
    rmSync(path.join(root, 'sys/module'), { recursive: true });
    answers.ask(['module:apex']);
    expect(answers.answered().answers).toEqual({});
  });

  test('wake nothing while nothing is asked', async () => {
    expect(clock.pendingTimers).toBe(0);
    answers.ask(['module:apex']);
    expect(clock.pendingTimers).toBe(1);
    answers.ask([]);
    await clock.advance(1000);
    expect(clock.pendingTimers).toBe(0);
    answers.ask(['module:apex']);
    expect(clock.pendingTimers).toBe(1);
  });

  test('end with the question', () => {
    answers.ask(['module:apex']);
    answers.ask([]);
    expect(answers.answered().answers).toEqual({});
    expect(onChange).toHaveBeenCalledTimes(2);
  });

  test.each(['module:..', 'module:.', 'module:a/b', 'module:', 'other:x', 'module:a\0', `module:${'a'.repeat(64)}`])(
    'do not go out of the way for %j',
    (question) => {
      answers.ask([question, 'module:apex']);
      expect(answers.answered().answers).toEqual({ 'module:apex': true });
    },
  );
});

describe('answers about the flags of the processors', () => {
  test.each([
    ['x86', 'processor\t: 0\nflags\t\t: fpu avx2 avx512f\nbugs\t\t:\n'],
    ['Arm', 'processor\t: 0\nFeatures\t: fp asimd avx2\nCPU part\t: 0xd0b\n'],
  ])('go by the first of them, as the kernel of %s writes it', (_what, text) => {
    cpuinfo(text);
    answers.ask(['cpu:avx2', 'cpu:sve']);
    expect(answers.answered().answers).toEqual({ 'cpu:avx2': true, 'cpu:sve': false });
  });

  test.each([
    ['there is no list', 'processor : 0\n'],
    ['it is cut off', `flags\t\t: fpu ${'x'.repeat(20_000)} avx2\n`],
  ])('are missing where %s', (_what, text) => {
    cpuinfo(text);
    answers.ask(['cpu:avx2']);
    expect(answers.answered().answers).toEqual({});
  });

  test('are missing without a procfs', () => {
    answers.ask(['cpu:avx2']);
    expect(answers.answered().answers).toEqual({});
  });

  test('go by a list that the file begins with as well', () => {
    cpuinfo('flags : avx2\n');
    answers.ask(['cpu:avx2']);
    expect(answers.answered().answers).toEqual({ 'cpu:avx2': true });
  });

  test('leave no file open, however often the list is looked for in vain', () => {
    cpuinfo('processor : 0\n');
    const open = () => readdirSync('/proc/self/fd').length;
    const before = open();
    for (let look = 0; look < 20; look += 1) answers.ask(['cpu:avx2', `cpu:sve${look}`]);
    expect(open()).toBe(before);
  });
});

describe('answers about feature files', () => {
  const ASKED = ['nfd:local.feature.example.com/slots', 'nfd:local.feature.gone', 'nfd:local.label.slots'];

  function features(text: string): void {
    mkdirSync(path.join(root, 'features.d'), { recursive: true });
    writeFileSync(path.join(root, 'features.d/vendor'), text);
  }

  /** Asks, and waits until what has to be read for it was read. */
  async function ask(questions: readonly string[]): Promise<void> {
    answers.ask(questions);
    await reading;
  }

  /** Lets time pass in steps, in each of which a read that was begun ends. */
  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      await clock.advance(500);
      await reading;
    }
  }

  test('are there or not, with their values', async () => {
    features('# +no-label\nexample.com/slots=4\nslots=5\n');
    await ask(ASKED);
    const [slots = '', gone = '', label = ''] = ASKED;
    expect(answers.answered()).toEqual({
      answers: { [slots]: true, [gone]: false, [label]: true },
      values: { [slots]: '4', [label]: '5' },
    });
    expect(onChange).toHaveBeenCalledTimes(1);
  });

  test.each(['nfd:local.label.slots', 'nfd:local.feature.slots'])('are given to %s alone', async (question) => {
    features('slots=5\n');
    await ask([question]);
    expect(answers.answered()).toEqual({ answers: { [question]: true }, values: { [question]: '5' } });
  });

  test('follow the files within a second, their expiry included', async () => {
    const at = (ms: number) => new Date(clock.now() + ms).toISOString();
    features(`# +expiry-time=${at(5000)}\ngone\n`);
    await ask(['nfd:local.feature.gone']);
    await pass(4000);
    expect(answers.answered().values).toEqual({ 'nfd:local.feature.gone': 'true' });
    await pass(2000);
    expect(answers.answered()).toEqual({ answers: { 'nfd:local.feature.gone': false }, values: {} });
    features('gone=back\n');
    await pass(1000);
    expect(answers.answered().values).toEqual({ 'nfd:local.feature.gone': 'back' });
  });

  test('have no value that is longer than a report is to be', async () => {
    features(`gone=${'x'.repeat(50_000)}\n`);
    await ask(['nfd:local.feature.gone']);
    expect(answers.answered().values['nfd:local.feature.gone']).toBe('x'.repeat(128));
  });

  test.each(['nfd:local.other.gone', 'nfd:cpu.model.id', 'nfd:local.feature.', `nfd:local.feature.${'a'.repeat(121)}`])(
    'are none to %j',
    async (question) => {
      features('gone\n');
      await ask([question]);
      expect(answers.answered().answers).toEqual({});
    },
  );

  test('are missing without the directory', async () => {
    await ask(ASKED);
    expect(answers.answered()).toEqual({ answers: {}, values: {} });
  });

  describe('that are being read', () => {
    const QUESTION = 'nfd:local.feature.slots';
    const SETS = { label: new Map(), feature: new Map([['slots', '4']]) };
    let reads: ((sets: FeatureSets | undefined) => void)[];
    let slow: Answers;

    /** Answers of files whose reads end when the test ends them, or when their time is over. */
    beforeEach(() => {
      reads = [];
      const read: FeatureFiles['read'] = (signal) =>
        new Promise((resolve) => {
          reads.push(resolve);
          signal.addEventListener('abort', () => resolve(undefined));
        });
      const kernel = { hasModule: () => true, hasCpuFlag: () => undefined };
      const logger = silentLogger();
      slow = new Answers({ kernel, features: { read }, clock, logger, signal: life.signal, onChange });
    });

    /** Ends the last of the reads. */
    async function end(sets: FeatureSets | undefined): Promise<void> {
      reads.at(-1)?.(sets);
      await clock.advance(0);
    }

    test('come when the read has ended, the others at once', async () => {
      slow.ask([QUESTION, 'module:apex']);
      expect(slow.answered()).toEqual({ answers: { 'module:apex': true }, values: {} });
      await clock.advance(900);
      onChange.mockClear();
      await end(SETS);
      expect(slow.answered().values).toEqual({ [QUESTION]: '4' });
      expect(onChange).toHaveBeenCalledTimes(1);
    });

    test('stay for a second, are then missing, and come back with the next read that ends', async () => {
      slow.ask([QUESTION]);
      await end(SETS);
      await clock.advance(1000);
      expect(reads).toHaveLength(2);
      await clock.advance(999);
      expect(slow.answered().values).toEqual({ [QUESTION]: '4' });
      await clock.advance(1);
      expect(slow.answered()).toEqual({ answers: {}, values: {} });
      await clock.advance(1000);
      await end(SETS);
      expect(slow.answered().values).toEqual({ [QUESTION]: '4' });
    });

    test('are given to another question at once while files are read anyway', async () => {
      slow.ask([QUESTION]);
      await end(SETS);
      slow.ask([QUESTION, 'nfd:local.feature.gone']);
      expect(slow.answered().answers).toEqual({ [QUESTION]: true, 'nfd:local.feature.gone': false });
    });

    test('are read by one at a time', async () => {
      slow.ask([QUESTION]);
      slow.ask(['nfd:local.feature.gone']);
      await clock.advance(500);
      expect(reads).toHaveLength(1);
      await end(SETS);
      expect(slow.answered().answers).toEqual({ 'nfd:local.feature.gone': false });
    });

    test.each([
      ['before the read has ended', () => slow.ask([])],
      ['after it', () => end(SETS).then(() => slow.ask([]))],
    ])('are forgotten when nothing asks for them any more: %s', async (_when, stop) => {
      slow.ask([QUESTION]);
      await stop();
      await end(SETS);
      slow.ask([QUESTION]);
      expect(slow.answered()).toEqual({ answers: {}, values: {} });
    });
  });
});
