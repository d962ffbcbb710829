import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createServiceMonitor } from '@rollcall/agent/probes/service-monitor.ts';
import { askOnce, openLineFor } from '@rollcall/agent/probes/testing/ask-once.ts';
import { within } from '@rollcall/agent/probes/testing/limits.ts';
import { systemClock } from '@rollcall/common/clock.ts';
import type { ProbeSpec } from '@rollcall/common/report.ts';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ensureBinaries } from '../../control-plane/binaries.ts';
import { Component } from '../../control-plane/component.ts';
import { etcdArgs } from '../../control-plane/component-args.ts';
import { freePort } from '../../control-plane/ports.ts';

const LIMIT = { timeout: 20_000, interval: 5 };

let directory: string;
let socket: string;
let port: number;
/** Built on grpc-go, as CSI drivers are, and has grpc.health.v1. */
let etcd: Component;

beforeEach(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'rollcall-grpc-'));
  // In its working directory etcd makes a socket file by what stands for host and port.
  socket = path.join(directory, 'localhost:0');
  port = await freePort();
  const urls = `--listen-client-urls=http://127.0.0.1:${port},unix://${path.basename(socket)}`;
  etcd = new Component({
    name: 'etcd',
    command: (await ensureBinaries({ names: ['etcd'] })).etcd,
    args: [...etcdArgs(path.join(directory, 'data'), port), urls],
    logFile: path.join(directory, 'etcd.log'),
    cwd: directory,
    isReady: async () => (await ask({ kind: 'grpc', socket })).startsWith('healthy'),
  });
  await etcd.start();
});

afterEach(async () => {
  await etcd.kill('SIGKILL');
  rmSync(directory, { recursive: true });
});

async function ask(spec: ProbeSpec, limitMs = 5000): Promise<string> {
  const target = spec['socket'] === undefined ? { host: '127.0.0.1', port } : { path: socket };
  const { verdict, evidence } = await askOnce(spec)(target, within(limitMs));
  return `${verdict}: ${evidence.replace(socket, 'SOCKET').replace(String(port), 'PORT')}`;
}

test('a server of grpc-go is understood, over the network and over a socket', async () => {
  expect(await ask({ kind: 'grpc' })).toBe('healthy: grpc 127.0.0.1:PORT says SERVING of the server as a whole');
  expect(await ask({ kind: 'grpc', socket })).toBe('healthy: grpc SOCKET says SERVING of the server as a whole');
  const unknown = 'soft: grpc SOCKET does not know the service "a.B" (NOT_FOUND)';
  expect(await ask({ kind: 'grpc', socket, service: 'a.B' })).toBe(unknown);
  expect(await ask({ kind: 'csi', socket })).toBe('soft: csi SOCKET has no csi.v1.Identity (UNIMPLEMENTED)');
  await etcd.kill('SIGSTOP');
  expect(await ask({ kind: 'grpc', socket }, 200)).toBe('soft: grpc SOCKET did not answer within 200 ms');
});

test('a server of grpc-go that is killed is not ready before the next round', async () => {
  const stop = new AbortController();
  const monitor = createServiceMonitor(
    {
      name: 'etcd',
      openLine: openLineFor({ kind: 'grpc', socket }),
      target: { path: socket },
      ...{ periodMs: 3_600_000, timeoutMs: 5000, failureThreshold: 3, successThreshold: 1 },
    },
    { clock: systemClock, signal: stop.signal, onChange: () => {} },
  );
  monitor.start();
  await vi.waitFor(() => expect(monitor.state()?.ready).toBe(true), LIMIT);
  await etcd.kill('SIGKILL');
  await vi.waitFor(() => expect(monitor.state()?.ready).toBe(false), LIMIT);
  expect(monitor.state()?.evidence).toBe(`grpc ${socket} has no listener (ECONNREFUSED)`);
  expect(monitor.rounds()).toBe(1);
  stop.abort();
});
