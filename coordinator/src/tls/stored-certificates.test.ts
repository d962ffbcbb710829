import { describe, expect, it } from 'vitest';
import { createAuthority, issueLeaf } from './certificate-authority.ts';
import type { KeyPair } from './certificate-holder.ts';
import { isIssuedBy, parseBundle, parseCertificate } from './certificate-info.ts';
import { nextStep } from './rotation.ts';
import {
  carryOut,
  type DataObject,
  publishBundle,
  readConfigMap,
  readSecret,
  viewOf,
  writeSecret,
} from './stored-certificates.ts';

const DAY = 86_400_000;
const policy = { names: ['localhost', '127.0.0.1'], propagationMs: 600_000 };

function empty(): DataObject {
  return { metadata: { name: 'x', uid: 'u', resourceVersion: '1' } };
}

/** The two objects, through as many steps as it takes. */
class Objects {
  secret: DataObject | undefined;
  configMap: DataObject | undefined;
  served: KeyPair | undefined;
  steps: string[] = [];

  async settle(nowMs: number, names = policy.names): Promise<number> {
    for (let count = 0; count < 20; count += 1) {
      // What is written is read back from text, as it would be from the API server.
      const { stored } = readSecret(this.secret && structuredClone(this.secret));
      this.served = stored.leaf ?? this.served;
      const view = viewOf(stored, { pair: this.served, issuer: undefined }, readConfigMap(this.configMap));
      const step = nextStep(view.state, { ...policy, names }, nowMs);
      if (step.action === 'wait') return step.untilMs;
      this.steps.push(step.action);
      const change = await carryOut(step, { stored, served: this.served, view, policy: { ...policy, names }, nowMs });
      if ('bundle' in change) this.configMap = publishBundle(this.configMap ?? empty(), change.bundle, nowMs);
      else this.secret = writeSecret(this.secret ?? empty(), change.secret);
    }
    throw new Error(`no rest: ${this.steps.slice(-20).join(', ')}`);
  }

  isTrusted(bundle = this.configMap?.data?.['ca.crt'] ?? ''): boolean {
    const leaf = parseCertificate(this.served?.cert ?? '');
    return parseBundle(bundle).some((authority) => isIssuedBy(leaf, authority));
  }
}

describe('the stored certificates', () => {
  it('are complete after the first steps', async () => {
    const objects = new Objects();
    const nowMs = Date.UTC(2026, 0, 1);
    await objects.settle(nowMs);
    expect(objects.steps).toEqual(['start-anew', 'publish']);
    expect(Object.keys(objects.secret?.data ?? {}).toSorted()).toEqual(['ca.crt', 'ca.key', 'tls.crt', 'tls.key']);
    expect(objects.configMap?.metadata.annotations?.['rollcall.dev/published-at']).toBe('2026-01-01T00:00:00.000Z');
    expect(objects.configMap?.data?.['ca.crt']).toMatch(
      /^-----BEGIN CERTIFICATE-----\n(.|\n)*-----END CERTIFICATE-----\n$/,
    );
    expect(objects.isTrusted()).toBe(true);
  });

  it('are trusted by clients that read bundles in time, through fifteen years', async () => {
    const objects = new Objects();
    const endMs = Date.UTC(2041, 0, 1);
    let bundleBefore = '';
    for (let nowMs = Date.UTC(2026, 0, 1); nowMs < endMs; ) {
      const dueMs = await objects.settle(nowMs);
      expect(objects.isTrusted()).toBe(true);
      // A client that has not read the latest bundle yet, when it is younger than the propagation time.
      if (bundleBefore !== '') expect(objects.isTrusted(bundleBefore)).toBe(true);
      if (dueMs - nowMs >= policy.propagationMs) bundleBefore = objects.configMap?.data?.['ca.crt'] ?? '';
      expect(parseCertificate(objects.served?.cert ?? '').notAfterMs).toBeGreaterThan(nowMs + 29 * DAY);
      expect(dueMs).toBeGreaterThan(nowMs);
      nowMs = dueMs;
    }
    expect(objects.steps.filter((step) => step === 'introduce-authority')).toHaveLength(22);
    expect(objects.steps.filter((step) => step === 'forget-previous').length).toBeGreaterThan(20);
    expect(objects.steps.filter((step) => step === 'sign-leaf').length).toBeGreaterThan(85);
    expect(objects.secret?.data).not.toHaveProperty('next-ca.key');
    expect(objects.secret?.data).not.toHaveProperty('previous-ca.crt');
  });

  it('keep the authority that is to come when the certificate is renewed in between', async () => {
    const objects = new Objects();
    const nowMs = Date.UTC(2026, 0, 1);
    await objects.settle(nowMs);
    const laterMs = nowMs + 250 * DAY;
    await objects.settle(laterMs);
    const next = objects.secret?.data?.['next-ca.crt'];
    expect(next).toBeDefined();
    const names = [...policy.names, 'another.name'];
    await objects.settle(laterMs + 1000, names);
    expect(parseCertificate(objects.served?.cert ?? '').names).toContain('another.name');
    expect(objects.secret?.data?.['next-ca.crt']).toBe(next);
    await objects.settle(laterMs + policy.propagationMs, names);
    expect(objects.secret?.data?.['ca.crt']).toBe(next);
    expect(objects.isTrusted()).toBe(true);
  });

  it('leave alone what other people keep in the same objects', async () => {
    const objects = new Objects();
    objects.secret = { ...empty(), type: 'Opaque', data: { note: 'aGk=' } };
    objects.configMap = { ...empty(), data: { other: 'text' } };
    objects.configMap.metadata.annotations = { mine: 'yes' };
    await objects.settle(Date.UTC(2026, 0, 1));
    expect(objects.secret).toMatchObject({ type: 'Opaque', data: { note: 'aGk=' } });
    expect(objects.configMap).toMatchObject({ data: { other: 'text' }, metadata: { annotations: { mine: 'yes' } } });
  });

  it('are read without what is damaged, and the damage is named', async () => {
    const nowMs = Date.UTC(2026, 0, 1);
    const authority = await createAuthority({ nowMs });
    const leaf = await issueLeaf(authority, { names: ['localhost'], nowMs });
    const other = await createAuthority({ nowMs });
    const secret = writeSecret(empty(), {
      leaf,
      authority: { ...authority, key: other.key },
      next: leaf,
      previous: [],
    });
    const { stored, problems } = readSecret(secret);
    expect(stored).toEqual({ leaf, previous: [] });
    expect(problems).toEqual(['ca.key does not belong to the certificate', 'next-ca.crt is not an authority']);
    expect(readSecret(writeSecret(empty(), { leaf, authority: leaf, previous: [] }))).toEqual({
      stored: { leaf, previous: [] },
      problems: ['ca.crt is not an authority'],
    });
    expect(readSecret({ ...empty(), data: { 'tls.crt': '', 'tls.key': '' } })).toEqual({
      stored: { previous: [] },
      problems: [],
    });
    expect(readSecret(undefined).problems).toEqual([]);
  });

  it('notice what does not belong in the bundle', async () => {
    const authority = parseCertificate((await createAuthority({ nowMs: Date.UTC(2026, 0, 1) })).cert);
    const configMap = publishBundle(empty(), [authority], 0);
    expect(readConfigMap(configMap)).toMatchObject({ intact: true, sinceMs: 0 });
    const text = configMap.data?.['ca.crt'] ?? '';
    for (const changed of [`${text}x`, `# mine\n${text}`, text.slice(1), text + text]) {
      expect(readConfigMap({ ...configMap, data: { 'ca.crt': changed } })).toMatchObject({ intact: false });
    }
    expect(readConfigMap(undefined)).toEqual({ certificates: [], intact: true, sinceMs: undefined });
  });
});
