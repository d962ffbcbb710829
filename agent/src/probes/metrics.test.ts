import { Registry } from '@rollcall/common/metrics.ts';
import { describe, expect, it } from 'vitest';
import { registerProbeMetrics } from './metrics.ts';

describe('registerProbeMetrics', () => {
  it('counts probes by verdict, with their duration in seconds', async () => {
    const registry = new Registry();
    const metrics = registerProbeMetrics(registry);
    metrics.begin('ws-daemon');
    metrics.observeProbe('ws-daemon', { verdict: 'healthy', evidence: '', latencyMs: 4 });
    metrics.observeProbe('ws-daemon', { verdict: 'soft', evidence: '', latencyMs: 1000 });
    const text = await registry.metrics();
    expect(text).toContain('rollcall_agent_probes_total{service="ws-daemon",verdict="healthy"} 1');
    expect(text).toContain('rollcall_agent_probes_total{service="ws-daemon",verdict="hard"} 0');
    expect(text).toContain('rollcall_agent_probe_duration_seconds_bucket{le="0.005",service="ws-daemon"} 1');
    expect(text).toContain('rollcall_agent_probe_duration_seconds_sum{service="ws-daemon"} 1.004');
  });

  it('counts what a held connection says, which took no time', async () => {
    const registry = new Registry();
    const metrics = registerProbeMetrics(registry);
    metrics.begin('ws-daemon');
    metrics.observeProbe('ws-daemon', { verdict: 'healthy', evidence: '' });
    const text = await registry.metrics();
    expect(text).toContain('rollcall_agent_probes_total{service="ws-daemon",verdict="healthy"} 1');
    expect(text).toContain('rollcall_agent_probe_duration_seconds_count{service="ws-daemon"} 0');
  });

  it('forgets a service that is probed no more', async () => {
    const registry = new Registry();
    const metrics = registerProbeMetrics(registry);
    metrics.begin('ws-daemon');
    metrics.observeProbe('ws-daemon', { verdict: 'healthy', evidence: '', latencyMs: 4 });
    metrics.end('ws-daemon');
    expect(await registry.metrics()).not.toContain('ws-daemon');
  });

  it('shows the verdict on a service and how often its idle connection was lost', async () => {
    const registry = new Registry();
    const metrics = registerProbeMetrics(registry);
    metrics.begin('ws-daemon');
    expect(await registry.metrics()).toContain('rollcall_agent_service_ready{service="ws-daemon"} 0');
    metrics.observeState({ name: 'ws-daemon', ready: true, sinceMs: 0, evidence: '' });
    metrics.countSentinelClose('ws-daemon');
    const text = await registry.metrics();
    expect(text).toContain('rollcall_agent_service_ready{service="ws-daemon"} 1');
    expect(text).toContain('rollcall_agent_sentinel_closes_total{service="ws-daemon"} 1');
  });
});
