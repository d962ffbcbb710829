import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openLineFor } from '@rollcall/agent/probes/testing/ask-once.ts';
import { buildContent, digestContent, fullReport } from '@rollcall/agent/report/report-builder.ts';
import { REPORT_BODY_BYTES_MAX } from '@rollcall/common/well-known.ts';
import { probeChecksOf, type Service } from '@rollcall/coordinator/model/services.ts';
import { NodeBudgets } from '@rollcall/coordinator/state/services/budgets.ts';
import { observeNodeService } from '@rollcall/coordinator/state/services/node-service.ts';
import { expect, onTestFinished, test } from 'vitest';

/** As many checks of one status file as a node can have. */
function servicesOnNode(file: string): Service[] {
  const budgets = new NodeBudgets(50);
  const services: Service[] = [];
  for (let index = 0; ; index += 1) {
    const checks = Array.from({ length: 4 }, (_, check) => ({
      name: `c${check}`,
      period: '10s',
      file: { path: file, expectedFirstLine: 'ok' },
    }));
    const metadata = { name: `s${index}`, uid: `${index}`, resourceVersion: '1', generation: 1 };
    const { service } = observeNodeService({ metadata, spec: { checks } });
    if (budgets.refusal(service)) return services;
    budgets.take(service);
    services.push(service);
  }
}

test('whatever a file says that all checks of a node read, the coordinator takes the report of its agent', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'claims-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = path.join(directory, 'status');
  writeFileSync(file, '\u0001'.repeat(500));
  const line = openLineFor({ kind: 'file', path: file, expectedFirstLine: 'ok' })(() => {});
  const { evidence } = await line.ask({ path: file }, AbortSignal.timeout(5000), true);
  const states = servicesOnNode(file)
    .flatMap(probeChecksOf)
    .map(({ id }) => ({ name: id, ready: false, sinceMs: 0, evidence, digest: '0'.repeat(16) }));
  expect(states.length).toBeGreaterThan(150);
  const parts = { devices: [], unread: [], facts: {}, answers: {}, values: {} };
  const content = digestContent(buildContent({ ...parts, services: states }, '1.0.0'));
  const identity = { node: 'n', boot: 'b', sequence: 1, servicesDigest: undefined, leaving: false };
  const bytes = Buffer.byteLength(JSON.stringify(fullReport(identity, content)));
  // Devices may have half of it.
  expect(bytes).toBeLessThanOrEqual(REPORT_BODY_BYTES_MAX / 2);
});
