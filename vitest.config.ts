import { defineConfig } from 'vitest/config';
import { ALONE } from './test/alone.ts';
import { LONG } from './test/long.ts';
import { LongestFirst } from './test/longest-first.ts';
import { PROCESSES, UNIT_TESTS } from './test/short.ts';
import SummaryReporter from './test/summary-reporter.ts';

const e2e = {
  globalSetup: ['test/global-setup.ts'],
  // No test is about this: it ends one that hangs, and others share the cores with it.
  testTimeout: 180_000,
  hookTimeout: 180_000,
  // Defaults to one second.
  expect: { poll: { timeout: 10_000 } },
};

/** Settings of fast-check. */
const setupFiles = ['packages/common/src/testing/fuzz.ts'];

export default defineConfig({
  test: {
    reporters: ['default', new SummaryReporter()],
    sequence: { sequencer: LongestFirst },
    // One after the other, by their groupOrder.
    projects: [
      {
        test: {
          name: 'unit',
          setupFiles,
          include: [...UNIT_TESTS],
          // A package below `deploy` has links to others.
          exclude: ['**/node_modules/**', PROCESSES, ...Object.keys(LONG)],
          // A worker of its own for each of two hundred files takes longer than what they test.
          isolate: false,
          // Many wait, for a time-out or for a child.
          maxWorkers: 8,
          // No test is about this: it ends one that hangs, and a busy machine takes its time.
          testTimeout: 120_000,
          expect: { poll: { timeout: 10_000 } },
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          // Random histories of a whole system, in one process, random or large inputs of its parts, and whole machines.
          name: 'long',
          setupFiles,
          include: ['test/{fixtures,model,simulate,spec}/**/*.test.ts', ...Object.keys(LONG)],
          maxWorkers: 2,
          // In `npm run test:all` they have what the others leave of the cores.
          testTimeout: 900_000,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...e2e,
          name: 'e2e',
          // A worker begins a file in half a second less where another has loaded what both need.
          isolate: false,
          include: [PROCESSES, 'test/{control-plane,stand-ins,demo,chart,monitoring,perturb,e2e}/**/*.test.ts'],
          exclude: Object.keys(ALONE),
          // Each waits most of the time.
          maxWorkers: 4,
          // As many control planes share the cores: with more than one thread each, Go spends a tenth of its CPU on them.
          env: { GOMAXPROCS: '1' },
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          ...e2e,
          name: 'e2e-alone',
          include: Object.keys(ALONE),
          globalSetup: ['test/global-setup.ts', 'test/browser/global-setup.ts'],
          // One of two leaves a core to the other.
          maxWorkers: 2,
          sequence: { groupOrder: 4 },
        },
      },
      {
        test: {
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          exclude: Object.keys(ALONE),
          globalSetup: ['test/global-setup.ts', 'test/browser/global-setup.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 10_000 } },
          maxWorkers: 1,
          sequence: { groupOrder: 5 },
        },
      },
      {
        test: {
          name: 'real-node',
          include: ['test/real-node/**/*.test.ts'],
          globalSetup: ['test/real-node/global-setup.ts'],
          testTimeout: 120_000,
          hookTimeout: 180_000,
          maxWorkers: 1,
          sequence: { groupOrder: 6 },
        },
      },
    ],
  },
});
