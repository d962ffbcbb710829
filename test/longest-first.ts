import path from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The slowest files, for a fresh clone without durations: by file size they would begin last, and delay the end. */
const LONGEST: readonly string[] = [
  'agent/src/probes/bounds.test.ts',
  'coordinator/src/decide/rules/files/rule-directory.test.ts',
  'coordinator/src/subscribers/notify/poster.test.ts',
  'coordinator/src/ingest/reports-server.test.ts',
  'test/model/histories.test.ts',
  'test/model/more-histories.test.ts',
  'test/e2e/main-job/failover.test.ts',
  'test/demo/demo.test.ts',
  'test/e2e/scheduler/absent.test.ts',
  'test/control-plane/control-plane.test.ts',
  'test/chart/uninstall.test.ts',
];

/** Within each project the files that take longest begin first. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const index = LONGEST.indexOf(path.relative(this.ctx.config.root, moduleId));
      return index < 0 ? LONGEST.length : index;
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}
