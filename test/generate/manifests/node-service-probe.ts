import { text, validation } from './crd-parts.ts';

const KINDS = ['tcp', 'tls', 'http2', 'http', 'https', 'grpc', 'csi', 'unix', 'file'];
const PATH = { maxLength: 1024, pattern: '^/' };

const port = {
  description: 'The port that it listens on.',
  type: 'integer',
  format: 'int32',
  minimum: 1,
  maximum: 65_535,
};
const portOnly = (description: string) => ({ description, type: 'object', required: ['port'], properties: { port } });
const whole = (description: string, minimum: number, maximum: number, more: object = {}) => ({
  description,
  type: 'integer',
  format: 'int32',
  minimum,
  maximum,
  ...more,
});

const http = (description: string, more: object = {}) => ({
  description,
  type: 'object',
  required: ['port'],
  properties: {
    port,
    path: text('What is asked for; / unless told.', { maxLength: 1024, pattern: '^/[!-"$-~]*$' }),
    headers: {
      description: 'Sent with the request.',
      type: 'object',
      maxProperties: 16,
      additionalProperties: { type: 'string', maxLength: 1024 },
    },
    statuses: {
      description: 'The healthy ones, each a status or a range, such as "401" or "200-399"; 200 unless told.',
      type: 'array',
      minItems: 1,
      maxItems: 16,
      'x-kubernetes-list-type': 'atomic',
      items: { type: 'string', pattern: '^[1-5][0-9][0-9](-[1-5][0-9][0-9])?$' },
    },
    ...more,
  },
});

const socket = text('Path of the socket on the node; the agents need --probe-paths for it.', PATH);

/** How the agent of a node asks a service. */
export const probe = {
  description: 'Evidence: what the agent of the node sees when it asks the service. Exactly one kind.',
  type: 'object',
  properties: {
    tcp: portOnly('A connection is taken.'),
    tls: portOnly('A connection is taken, and TLS begun.'),
    http2: portOnly('A connection is taken, and HTTP/2 begun.'),
    http: http('A GET is answered with a healthy status.'),
    https: http('A GET over TLS is answered with a healthy status.', {
      caBundle: text(
        'CA certificates (PEM, in base64) by which the certificate is verified, its names aside; it is not verified unless told.',
        // It goes with replies to agents.
        { format: 'byte', maxLength: 32_768 },
      ),
    }),
    grpc: {
      description: 'grpc.health.v1 says SERVING.',
      type: 'object',
      properties: {
        port,
        socket,
        service: text('Name of the gRPC service that is asked about; that of the server as a whole unless told.', {
          maxLength: 253,
        }),
      },
      'x-kubernetes-validations': [
        validation('has(self.port) != has(self.socket)', 'grpc needs a port or a socket, and not both'),
      ],
    },
    csi: {
      description: 'csi.v1.Identity says that the driver is ready.',
      type: 'object',
      required: ['socket'],
      properties: { socket },
    },
    unix: {
      description: 'A connection to a Unix socket is taken.',
      type: 'object',
      required: ['path'],
      properties: { path: socket },
    },
    file: {
      description: 'A file is there.',
      type: 'object',
      required: ['path'],
      properties: {
        path: text('Path of the file on the node; the agents need --probe-paths for it.', PATH),
        maxAgeSeconds: whole('It was written at most so long ago.', 1, 31_536_000),
      },
    },
    host: text(
      'The address that is asked: that of the pod, of the node, or loopback, for which the agents have to be on the ' +
        'network of the host. Unless told, that of the pod, or of the node where the pod is on its network or there is none.',
      { enum: ['Pod', 'Node', 'Loopback'] },
    ),
    periodMilliseconds: whole('Between two rounds.', 10, 3_600_000, { default: 1000 }),
    timeoutMilliseconds: whole('For an answer.', 10, 3_600_000, { default: 1000 }),
    failureThreshold: whole(
      'Bad answers in a row before it is not ready; a refused connection counts at once.',
      1,
      1000,
      {
        default: 3,
      },
    ),
    successThreshold: whole('Good answers in a row before it is ready.', 1, 1000, { default: 1 }),
  },
  'x-kubernetes-validations': [
    validation(
      `[${KINDS.map((kind) => `has(self.${kind})`).join(', ')}].filter(x, x).size() == 1`,
      `exactly one kind of probe is needed: ${KINDS.join(', ')}`,
    ),
  ],
};
