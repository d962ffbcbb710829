import { DEVICE_BUSES, type FullReport, PROTOCOL_VERSION } from '@rollcall/common/report.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseReport, REPORT_LIMITS } from './report-schema.ts';

const header = { node: 'n1', boot: 'b1', sequence: 7, digest: 'd1' };
const service = {
  name: 'ws-daemon',
  ready: true,
  since: '2026-01-01T00:00:00Z',
  evidence: 'connected in 1 ms',
  digest: 'c1',
};
const full: FullReport = {
  ...header,
  services: [service],
  devices: [{ bus: 'usb', attributes: { vendor: '1a6e', device: '089a' } }],
  facts: { cpu: 'made of sand' },
};

/** Of an agent that speaks the same version of the protocol. */
function parse(body: object) {
  return parseReport({ protocol: PROTOCOL_VERSION, ...body });
}

function manyOf<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function textMap(entries: number, keyLength = 4): Record<string, string> {
  return Object.fromEntries(manyOf(entries, (index) => [String(index).padStart(keyLength, 'k'), 'v']));
}

describe('parseReport', () => {
  it('takes a report without content as a heartbeat', () => {
    expect(parse(header)).toEqual({ report: header });
  });

  it('takes a report with content as a full report', () => {
    expect(parse({ ...full, leaving: true })).toEqual({ report: { ...full, leaving: true } });
  });

  it('takes facts that were not read yet', () => {
    expect(parse({ ...full, unread: ['facts', 'pci'] })).toEqual({
      report: { ...full, unread: ['facts', 'pci'] },
    });
  });

  it.each([null, 0, PROTOCOL_VERSION + 1, String(PROTOCOL_VERSION)])('refuses the protocol %j', (protocol) => {
    const detail = 'must be 1: run agents and coordinators of the same release';
    for (const body of [header, full]) {
      expect(parseReport({ ...body, protocol })).toEqual({ problem: { field: 'protocol', detail } });
    }
  });

  it('takes a report without a protocol as one of the first', () => {
    expect([parseReport(header), parseReport(full)]).toEqual([{ report: header }, { report: full }]);
  });

  it('takes a verdict without the digest of its check', () => {
    const { digest: _digest, ...bare } = service;
    expect(parse({ ...full, services: [bare] })).toEqual({ report: { ...full, services: [bare] } });
  });

  it('takes missing devices and facts for unread', () => {
    const { devices: _devices, facts: _facts, ...less } = full;
    const report = { ...full, devices: [], facts: {}, unread: [...DEVICE_BUSES, 'facts'] };
    expect(parse(less)).toEqual({ report });
    expect(parse({ ...less, facts: { os: 'linux' } })).toEqual({
      report: { ...full, devices: [], facts: { os: 'linux' }, unread: DEVICE_BUSES },
    });
  });

  it('takes a service of which nothing is known yet, and who looks how', () => {
    const unknown = { ...service, ready: false, unknown: true as const };
    const report = { ...full, services: [unknown], version: '1.2.3', servicesDigest: 'ab' };
    expect(parse(report)).toEqual({ report });
    expect(parse({ ...header, servicesDigest: 'ab' })).toEqual({ report: { ...header, servicesDigest: 'ab' } });
    expect(parse({ ...full, services: [{ ...service, unknown: false }] })).toMatchObject({
      problem: { field: 'services[0].unknown' },
    });
  });

  it('drops what it does not know, at every level', () => {
    const body = {
      ...full,
      mood: 'good',
      services: [{ ...service, colour: 'green' }],
      devices: [{ ...full.devices[0], speed: 480 }],
    };
    expect(parse(body)).toEqual({ report: full });
  });

  it('does not let a fact named __proto__ through', () => {
    const body = JSON.parse(
      `{"node":"n","boot":"b","sequence":1,"digest":"d","services":[],"devices":[],"facts":{"__proto__":"x"}}`,
    );
    const parsed = parse(body);
    expect(parsed).toMatchObject({ report: { facts: {} } });
    expect('report' in parsed && 'facts' in parsed.report && Object.getPrototypeOf(parsed.report.facts)).toBe(
      Object.prototype,
    );
  });

  it('takes everything up to its limit', () => {
    const body = {
      ...header,
      services: manyOf(REPORT_LIMITS.services, (index) => ({ ...service, name: `s-${index}` })),
      devices: manyOf(REPORT_LIMITS.devices, () => ({
        bus: 'pci',
        attributes: textMap(REPORT_LIMITS.deviceAttributes),
      })),
      facts: textMap(REPORT_LIMITS.facts, REPORT_LIMITS.key),
      answers: Object.fromEntries(manyOf(REPORT_LIMITS.answers, (index) => [`module:${index}`, true])),
      values: textMap(REPORT_LIMITS.answers, REPORT_LIMITS.key),
    };
    expect(parse(body)).toEqual({ report: body });
  });

  it.each([
    ['services[0].ready', { ...full, services: [{ ...service, ready: 'yes' }] }],
    ['services[0].name', { ...full, services: [{ ...service, name: 'Not/A/Name' }] }],
    ['services[0].name', { ...full, services: [{ ...service, name: 'a/b/c/d' }] }],
    ['services[1].name', { ...full, services: [service, service] }],
    ['services[0].since', { ...full, services: [{ ...service, since: 'yesterday' }] }],
    ['services[0].since', { ...full, services: [{ ...service, since: '2026-13-01T00:00:00Z' }] }],
    ['services[0].since', { ...full, services: [{ ...service, since: undefined }] }],
    ['services[0].evidence', { ...full, services: [{ ...service, evidence: 'x'.repeat(REPORT_LIMITS.evidence + 1) }] }],
    ['services[0].evidence', { ...full, services: [{ ...service, evidence: undefined }] }],
    ['services[0].digest', { ...full, services: [{ ...service, digest: '' }] }],
    ['services', { ...header, devices: [], facts: {} }],
    ['services', { ...header, services: {} }],
    ['services', { ...header, services: null }],
    [
      'services',
      { ...full, services: manyOf(REPORT_LIMITS.services + 1, (index) => ({ ...service, name: `s-${index}` })) },
    ],
    ['devices', { ...full, devices: manyOf(513, () => ({ bus: 'pci', attributes: {} })) }],
    ['devices[0].bus', { ...full, devices: [{ bus: 'isa', attributes: {} }] }],
    ['unread[0]', { ...full, unread: ['nvme'] }],
    ['unread', { ...full, unread: manyOf(5, () => 'usb') }],
    ['devices[0].attributes', { ...full, devices: [{ bus: 'usb', attributes: textMap(33) }] }],
    ['devices[0].attributes.vendor', { ...full, devices: [{ bus: 'usb', attributes: { vendor: 7 } }] }],
    ['facts', { ...full, facts: textMap(65) }],
    ['facts', { ...full, facts: [] }],
    ['values', { ...full, values: textMap(65) }],
    ['values.x', { ...full, values: { x: true } }],
    ['facts.cpu', { ...full, facts: { cpu: 'x'.repeat(REPORT_LIMITS.value + 1) } }],
    [`facts.${'k'.repeat(64)}`, { ...full, facts: { ['k'.repeat(129)]: 'v' } }],
    ['node', { ...header, node: undefined }],
    ['node', { ...header, node: '' }],
    ['node', { ...header, node: 'x'.repeat(254) }],
    ['boot', { ...header, boot: 'x'.repeat(129) }],
    ['digest', { ...header, digest: '' }],
    ['digest', { ...header, digest: 'x'.repeat(129) }],
    ['sequence', { ...header, sequence: -1 }],
    ['sequence', { ...header, sequence: 1.5 }],
    ['sequence', { ...header, sequence: 2 ** 53 }],
    ['leaving', { ...header, leaving: 'soon' }],
    ['leaving', { ...header, leaving: null }],
  ])('names %s as the field that is wrong', (field, body) => {
    const parsed = parse(body);
    expect(parsed).toMatchObject({ problem: { field, detail: expect.stringMatching(/^(must|is|has|")/) } });
  });

  const device = { bus: 'pci', attributes: {} };
  it.each<[string, object, string]>([
    ['node', { ...header, node: 7 }, 'must be a string'],
    ['node', { ...header, node: '' }, 'must not be empty'],
    ['node', { ...header, node: 'x'.repeat(254) }, 'must have at most 253 characters'],
    ['leaving', { ...header, leaving: 'soon' }, 'must be true or false'],
    ['sequence', { ...header, sequence: -1 }, 'must be at least 0'],
    ['sequence', { ...header, sequence: '1' }, 'must be a whole number'],
    ['sequence', { ...header, sequence: 1.5 }, 'must be a whole number below 2^53'],
    ['services', { ...full, services: {} }, 'must be a list'],
    ['services[0]', { ...full, services: [7] }, 'must be an object'],
    ['services[0].unknown', { ...full, services: [{ ...service, unknown: false }] }, 'must be one of true'],
    ['services[0].since', { ...full, services: [{ ...service, since: 'x' }] }, 'must be a time as in RFC 3339'],
    ['services[1].name', { ...full, services: [service, service] }, '"ws-daemon" occurs twice'],
    ['facts', { ...full, facts: 'x' }, 'must be an object'],
    ['facts', { ...full, facts: textMap(65) }, 'must have at most 64 entries'],
    ['facts.', { ...full, facts: { '': 'x' } }, 'has a key that is not allowed: it must not be empty'],
    ['answers.x', { ...full, answers: { x: 'yes' } }, 'must be true or false'],
    ['devices', { ...full, devices: Array(513).fill(device) }, 'must have at most 512 items'],
    ['devices[0].count', { ...full, devices: [{ ...device, count: 65_537 }] }, 'must be at most 65536'],
    ['devices[0].numaNode', { ...full, devices: [{ ...device, numaNode: -1 }] }, 'must be at least 0'],
    ['devices[0].count', { ...full, devices: [{ ...device, count: 0 }] }, 'must be at least 1'],
    ['devices[0].bus', { ...full, devices: [{ ...device, bus: 'A' }] }, 'must be one of usb, pci, device-tree'],
    ['services', { ...header, services: undefined, facts: {} }, 'is missing, and must be a list'],
    [
      'services[0].evidence',
      { ...full, services: [{ ...service, evidence: undefined }] },
      'is missing, and must be a string',
    ],
    ['leaving', { ...header, leaving: null }, 'must be true or false'],
  ])('says of %s what is wrong: %j', (field, body, detail) => {
    expect(parse(body)).toEqual({ problem: { field, detail } });
  });

  it('takes each field of a device, up to its limit', () => {
    const all = { ...device, count: 65_536, driver: 'd', virtual: true, address: 'a', numaNode: 0, iommuGroup: '1' };
    const devices = [{ ...all, nodes: manyOf(16, (index) => `/dev/${index}`) }];
    expect(parse({ ...full, devices })).toEqual({ report: { ...full, devices } });
    expect(parse({ ...full, devices: [{ ...device, count: 0 }] })).toMatchObject({
      problem: { field: 'devices[0].count' },
    });
    expect(parse({ ...full, devices: [{ ...device, nodes: manyOf(17, () => 'x') }] })).toMatchObject({
      problem: { field: 'devices[0].nodes', detail: 'must have at most 16 items' },
    });
  });

  it('reports a missing field', () => {
    expect(parse({ ...header, digest: undefined })).toEqual({
      problem: { field: 'digest', detail: 'is missing, and must be a string' },
    });
  });

  it.each(['2026-01-01T00:00:00.123456789Z', '2026-01-01T00:00:00+02:00', '2026-01-01t00:00:00z'])(
    'takes %s as a time',
    (since) => {
      expect(parse({ ...full, services: [{ ...service, since }] })).toHaveProperty('report');
    },
  );

  it('gives a report or a named problem for any JSON object', () => {
    const mutilated = fc
      .record({ key: fc.constantFrom(...Object.keys(full), 'leaving', 'other'), value: fc.jsonValue() })
      .map(({ key, value }) => ({ ...full, [key]: value }));
    fc.assert(
      fc.property(fc.oneof(mutilated, fc.dictionary(fc.string(), fc.jsonValue())), (body) => {
        const parsed = parse(body);
        if ('problem' in parsed) {
          expect(typeof parsed.problem.field).toBe('string');
          expect(parsed.problem.detail).not.toBe('');
          return;
        }
        // What was accepted is accepted again, unchanged: nothing passes that the types do not promise.
        expect(parse(parsed.report)).toEqual({ report: parsed.report });
      }),
    );
  });
});

it('cleans every text of a report of what a terminal would not show, or would obey', () => {
  const raw = 'a\u001b[31m\u202e\n\u2028b';
  const body = {
    ...full,
    version: raw,
    services: [{ ...service, evidence: raw, digest: raw }],
    devices: [{ bus: 'usb', attributes: { [raw]: raw }, driver: raw, address: raw, iommuGroup: raw, nodes: [raw] }],
    facts: { [raw]: raw },
    answers: { [raw]: true },
    values: { [raw]: raw },
  };
  for (const report of [parse(body), parse({ ...header, digest: raw, boot: raw, servicesDigest: raw })]) {
    expect(report).toHaveProperty('report');
    const text = JSON.stringify(report);
    expect(text).not.toMatch(/\\u00|\\n|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(text).toContain('a\\\\u{1b}[31m\\\\u{202e}\\\\u{a}\\\\u{2028}b');
  }
});
