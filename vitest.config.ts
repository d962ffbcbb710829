import { defineConfig } from 'vitest/config';
import SummaryReporter from './test/summary-reporter.ts';

export default defineConfig({
  test: {
    reporters: ['default', new SummaryReporter()],
    // One after the other, by their groupOrder: the tests with processes need the machine for themselves.
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            '{agent,coordinator,packages/*}/src/**/*.test.ts',
            'deploy/**/*.test.ts',
            'test/{tidy,generate,fixtures}/**/*.test.ts',
          ],
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/{control-plane,stand-ins,demo,chart,monitoring,e2e}/**/*.test.ts'],
          globalSetup: ['test/global-setup.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          // A control plane and all that talks to it share the cores with the clock of the test: what fails is tried once
          // more, and told ("retry x1").
          retry: 1,
          // Each file starts a control plane of its own; two cores are not for two of them at once.
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'real-node',
          include: ['test/real-node/**/*.test.ts'],
          globalSetup: ['test/real-node/global-setup.ts'],
          testTimeout: 120_000,
          hookTimeout: 180_000,
          retry: 1,
          fileParallelism: false,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
