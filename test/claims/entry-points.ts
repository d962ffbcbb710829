import { PassThrough } from 'node:stream';
import { cleanDocument } from '@rollcall/common/clean.ts';
import { BodyReader } from '@rollcall/common/http-body.ts';
import { readTarget } from '@rollcall/common/request-target.ts';
import { REPORT_BODY_BYTES_MAX } from '@rollcall/common/well-known.ts';
import { parseRuleFile } from '@rollcall/coordinator/decide/rules/parse-rule-file.ts';
import { parseJsonObject, readBearerToken } from '@rollcall/coordinator/ingest/report-handler.ts';
import { parseReport } from '@rollcall/coordinator/ingest/report-schema.ts';
import { isCanonicalToken, readClaims } from '@rollcall/coordinator/ingest/token-claims.ts';
import { readArguments } from '@rollcall/scheduler-extender/extender/arguments.ts';
import { readSchedulingPod } from '@rollcall/scheduler-extender/scoring/scheduling-pod.ts';

/** Where bytes of others enter the coordinator, and what is done with them before anything is decided. */
export type EntryPoint = {
  /** The file with the listener or the parser. */
  file: string;
  /** The routes of a listener. */
  routes?: readonly string[];
  /** Processes an input; absent where `bounds` says why it needs no measurement. May refuse by throwing. */
  feed?: (input: Buffer) => unknown;
  /** The largest input, in bytes, and its kind. */
  bytesMax?: number;
  shapes?: readonly Shape[];
  bounds: string;
};

type Shape = { name: string; of: (bytes: number) => string };

const filled = (bytes: number, item: (index: number) => string) => {
  const items: string[] = [];
  for (let length = 0, index = 0; ; index += 1) {
    const next = item(index);
    length += Buffer.byteLength(next) + 1;
    if (length > bytes) return items.join(',');
    items.push(next);
  }
};

const HEADER = '"protocol":1,"node":"n","boot":"b","sequence":1,"digest":"d"';
const since = '2026-01-01T00:00:00Z';
const service = (index: number, evidence: string) =>
  JSON.stringify({ name: `s${index}`, ready: true, since, evidence, digest: 'd' });

const json = (name: string, before: string, item: (index: number) => string, after: string): Shape => ({
  name,
  of: (bytes) => `${before}${filled(bytes - before.length - after.length, item)}${after}`,
});
const long = (name: string, before: string, char: string, after: string): Shape => ({
  name,
  of: (bytes) =>
    `${before}${char.repeat(Math.floor((bytes - before.length - after.length) / Buffer.byteLength(char)))}${after}`,
});
const deep: Shape = { name: 'deep', of: (bytes) => `{"a":${'['.repeat(bytes / 2 - 4)}${']'.repeat(bytes / 2 - 4)}}` };

const REPORTS: readonly Shape[] = [
  json('many short services', `{${HEADER},"services":[`, (index) => service(index, ''), ']}'),
  long('one long text', `{${HEADER},"services":[${service(0, '')}],"facts":{"a":"`, 'x', '"}}'),
  json(
    'evidence that is all escapes',
    `{${HEADER},"services":[`,
    (index) => service(index, '\u202e'.repeat(1000)),
    ']}',
  ),
  json(
    'many devices',
    `{${HEADER},"services":[],"devices":[`,
    (index) => `{"bus":"pci","attributes":{"a":"${index}"}}`,
    ']}',
  ),
  json('empty devices', `{${HEADER},"services":[],"devices":[`, () => '{}', ']}'),
  json('many facts', `{${HEADER},"services":[],"facts":{`, (index) => `"k${index}":"v"`, '}}'),
  json('one fact repeated', `{${HEADER},"services":[],"facts":{`, () => '"k":"v"', '}}'),
  deep,
];

const QUESTIONS: readonly Shape[] = [
  json('many names', '{"Pod":{},"NodeNames":[', (index) => `"n${index}"`, ']}'),
  json('empty items', '{"Pod":{},"Nodes":{"items":[', () => '{}', ']}}'),
  json('many labels', '{"Pod":{"metadata":{"labels":{', (index) => `"l${index}":""`, '}}}}'),
  json('many victims', '{"Pod":{},"NodeNameToMetaVictims":{', (index) => `"n${index}":{"Pods":[{"UID":"u"}]}`, '}}'),
  long('one long name', '{"Pod":{},"NodeNames":["', 'x', '"]}'),
  deep,
];

const TEXTS: readonly Shape[] = [
  long('one long line', '', 'x', ' => y'),
  long('many empty lines', '', '\n', ''),
  long('many short rules', '', 'a=1 => b\n', ''),
  long('many negations', '', '!', 'a => b'),
];

const TOKENS: readonly Shape[] = [
  long('one long part', '', 'a', ''),
  long('many parts', '', 'a.', ''),
  { name: 'deep claims', of: (bytes) => `a.${Buffer.from('['.repeat(bytes / 2)).toString('base64url')}.a` },
];

const PLACING = { nodeSelector: {}, services: undefined, podSelector: {} } as never;

/** One row for each file that opens a listener or parses. A file that is missing fails the test beside this one. */
export const ENTRY_POINTS: readonly EntryPoint[] = [
  {
    file: 'coordinator/src/ingest/reports-server.ts',
    routes: ['/v1/reports'],
    bounds: 'createLimitedServer and the next row',
  },
  {
    file: 'coordinator/src/ingest/report-handler.ts',
    bytesMax: REPORT_BODY_BYTES_MAX,
    shapes: REPORTS,
    feed: (input) => parseReport(parseJsonObject(input)),
    bounds: 'Content-Length, a depth of 32, and REPORT_LIMITS',
  },
  {
    file: 'coordinator/src/ingest/token-claims.ts',
    bytesMax: 8192,
    shapes: TOKENS,
    feed: (input) => {
      const token = readBearerToken(`Bearer ${input}`) ?? '';
      return isCanonicalToken(token) && readClaims(token);
    },
    bounds: 'TOKEN_LENGTH_MAX',
  },
  {
    file: 'packages/scheduler-extender/src/extender/extender-server.ts',
    routes: [
      '/scheduler/filter',
      '/scheduler/prioritize',
      '/scheduler/preempt',
      '/scheduler/predicates/gitpod',
      '/status',
    ],
    bounds: 'createLimitedServer and the next row',
  },
  {
    file: 'packages/scheduler-extender/src/extender/arguments.ts',
    bytesMax: 4 * 1024 * 1024,
    shapes: QUESTIONS,
    feed: (input) => readSchedulingPod(readArguments(input, 300).pod, PLACING),
    bounds: 'a Content-Length that follows from the fleet, and so many values',
  },
  {
    file: 'packages/common/src/http-body.ts',
    bytesMax: 1024 * 1024,
    shapes: [long('one byte at a time', '"', 'x', '"')],
    feed: (input) => {
      const request = Object.assign(new PassThrough({ highWaterMark: 2 * input.length }), {
        headers: { 'content-length': String(input.length) },
      });
      const reading = new BodyReader({ what: 'It', bytesMax: () => input.length }).read(request as never);
      // The bound on reads of a connection: one for every 64 bytes.
      for (let at = 0; at < input.length; at += 64) request.emit('data', input.subarray(at, at + 64));
      request.emit('end');
      return reading;
    },
    bounds: 'a length that is required, and memory that doubles',
  },
  {
    file: 'packages/common/src/clean.ts',
    bytesMax: REPORT_BODY_BYTES_MAX,
    shapes: [long('all escapes', '"', '\u202e', '"'), json('many texts', '[', () => '"\u202e"', ']')],
    feed: (input) => cleanDocument(JSON.parse(input.toString())),
    bounds: 'the report',
  },
  {
    file: 'packages/common/src/request-target.ts',
    bytesMax: 16_384,
    shapes: [
      long('one long path', '"/', 'x', '"'),
      long('many dots', '"/', '../', '"'),
      long('many queries', '"/?', 'a&', '"'),
    ],
    feed: (input) => readTarget(input.toString().slice(1, -1)),
    bounds: 'the head of a request, 16 KiB',
  },
  {
    file: 'coordinator/src/decide/rules/parse-rule-file.ts',
    bytesMax: 64 * 1024,
    shapes: TEXTS,
    feed: (input) => parseRuleFile(input.toString()),
    bounds: 'the size of a rule file',
  },
  {
    file: 'coordinator/src/answer/console/console-server.ts',
    routes: [
      '/',
      '/v1/nodes',
      '/v1/services',
      '/v1/plan',
      '/v1/audit',
      '/v1/rules',
      '/v1/schedule',
      '/v1/stream',
      '/v1/diff',
    ],
    bounds: 'BodyReader, a megabyte, 1,000 objects, slices',
  },
  {
    file: 'packages/common/src/observability-server.ts',
    routes: ['healthz', 'readyz', 'metrics'],
    bounds: 'no body is read',
  },
  { file: 'coordinator/src/write/node-writer.ts', bounds: 'what the coordinator wrote itself' },
  {
    file: 'coordinator/src/state/json-annotation.ts',
    bounds: 'annotations of one Node, which the API server limits to 256 KiB',
  },
  { file: 'coordinator/src/kube/apply-object.ts', bounds: 'what the coordinator wrote itself' },
  { file: 'coordinator/src/kube/https-client.ts', bounds: 'answers of the API server, a page or an event at a time' },
  { file: 'coordinator/src/kube/exchange.ts', bounds: 'answers of the API server' },
  { file: 'packages/common/src/exec-plugin.ts', bounds: 'a program that the kubeconfig names' },
  { file: 'packages/common/src/parse-json.ts', bounds: 'its callers: reports' },
  { file: 'packages/common/src/config/yaml.ts', bounds: 'files that the flags name' },
  { file: 'packages/common/src/config/load.ts', bounds: 'files that the flags name' },
  { file: 'packages/common/src/logging.ts', bounds: 'lines that this program wrote' },
];
