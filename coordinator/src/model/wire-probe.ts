import { hash } from 'node:crypto';
import { digestOf } from '@rollcall/common/digest.ts';
import type { ServiceToProbe } from '@rollcall/common/report.ts';
import type { ServiceProbe } from './services.ts';

/** A probe as agents get it, without what differs between nodes. */
export type WireProbe = {
  how: Pick<ServiceToProbe, 'probe'> & Partial<ServiceToProbe>;
  /** SHA-256 of `how`, in hex. */
  digest: string;
  /** Bytes of `how` as JSON. */
  bytes: number;
  caBundle: CaBundle | undefined;
};

/** `key`: SHA-256 of the text, in hex. `bytes`: of the text as JSON. */
type CaBundle = { key: string; text: string; bytes: number };

const known = new WeakMap<ServiceProbe, WireProbe>();

/** How agents are told to probe a service. Computed once for each probe: bundles and headers may have 50 KB. */
export function wireProbe(probe: ServiceProbe): WireProbe {
  const before = known.get(probe);
  if (before) return before;
  const { spec, port: _port, host: _host, of: _of, ...times } = probe;
  const { caBundle: text, ...rest } = spec;
  const caBundle = typeof text === 'string' ? bundleOf(text) : undefined;
  const how = { probe: rest, ...(caBundle ? { caBundle: caBundle.key } : {}), ...times };
  const made = { how, digest: digestOf(how), bytes: bytesOf(how), caBundle };
  known.set(probe, made);
  return made;
}

function bundleOf(text: string): CaBundle {
  return { key: hash('sha256', text, 'hex'), text, bytes: bytesOf(text) };
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
