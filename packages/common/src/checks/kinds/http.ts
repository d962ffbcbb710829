import { AT_PORT, CA_BUNDLE, type ProbeKind } from '../check-kind.ts';
import { type Schema, text, validation, yesOrNo } from '../schema.ts';

export type HttpSettings = {
  /** As it goes into the first line of a request; defaults to `/`. */
  path?: string;
  headers?: Readonly<Record<string, string>>;
  /** One status or a range each: `404`, `200-399`; defaults to 200. */
  expectedStatuses?: readonly string[];
};

export type HttpsSettings = HttpSettings & {
  /** CA certificates in PEM, or that in base64. */
  caBundle?: string;
};

/** RFC 9110, section 5.1; and, for values, printable ASCII. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[ -~\t]*$/;

const get = <S extends HttpSettings>(description: string, more: Readonly<Record<string, Schema>>): ProbeKind<S> => ({
  schema: {
    description,
    type: 'object',
    required: ['port'],
    properties: {
      ...AT_PORT,
      path: text('Path of the request. Defaults to /.', { maxLength: 1024, pattern: '^/[!-"$-~]*$' }),
      headers: {
        description: 'Headers of the request.',
        type: 'object',
        maxProperties: 16,
        additionalProperties: {
          type: 'string',
          maxLength: 1024,
          'x-kubernetes-validations': [
            validation<string>(
              String.raw`self.matches('^[ -~\\t]*$')`,
              'the value of a header may only have printable ASCII characters and tabs: remove the others, such as line breaks',
              (value) => HEADER_VALUE.test(value),
            ),
          ],
        },
        'x-kubernetes-validations': [
          validation<object>(
            "self.all(name, name.matches('^[!#$%&*+.^_`|~0-9A-Za-z\\'-]+$'))",
            'a name in headers must be a token of HTTP, without spaces and colons: write it as in X-Probe',
            (headers) => Object.keys(headers).every((name) => HEADER_NAME.test(name)),
          ),
        ],
      },
      expectedStatuses: {
        description: 'Healthy statuses, each a status or a range, such as "401" or "200-399". Defaults to 200.',
        type: 'array',
        minItems: 1,
        maxItems: 16,
        'x-kubernetes-list-type': 'atomic',
        items: {
          type: 'string',
          maxLength: 7,
          pattern: '^[1-5][0-9][0-9](-[1-5][0-9][0-9])?$',
          'x-kubernetes-validations': [
            validation<string>(
              'size(self) < 7 || self.substring(0, 3) <= self.substring(4)',
              'a range in expectedStatuses must begin with its lower status: write "200-399" instead of "399-200"',
              (range) => range.length < 7 || range.slice(0, 3) <= range.slice(4),
            ),
          ],
        },
      },
      ...more,
    },
  },
  voucher: 'agent',
});

export const http = get<HttpSettings & { h2c?: boolean }>(
  'Passes if the service answers a GET with a healthy status.',
  {
    h2c: yesOrNo(
      'Whether to speak HTTP/2 in clear text from the beginning, as servers of gRPC do. Defaults to HTTP/1.1.',
    ),
  },
);

export const https = get<HttpsSettings>('Passes if the service answers a GET over TLS with a healthy status.', {
  caBundle: CA_BUNDLE,
});
