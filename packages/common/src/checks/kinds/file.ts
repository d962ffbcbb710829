import { type ProbeKind, pathOnNode } from '../check-kind.ts';
import { duration, text } from '../schema.ts';

export const unix: ProbeKind<{ path: string }> = {
  schema: {
    description: 'Passes if a Unix socket accepts a connection.',
    type: 'object',
    required: ['path'],
    properties: { path: pathOnNode('path', 'socket') },
  },
  voucher: 'agent',
};

export type FileSettings = {
  path: string;
  maxAgeMs?: number;
  newerThan?: 'Boot' | 'Pod';
  expectedFirstLine?: string;
};

export const file: ProbeKind<FileSettings> = {
  schema: {
    description: 'Passes if the file exists.',
    type: 'object',
    required: ['path'],
    properties: {
      path: pathOnNode('path', 'file'),
      maxAge: duration('maxAge', 'Maximum time since the last write to the file.'),
      newerThan: text(
        'What the last write to the file must follow: the start of the node, or of the pod that the service checks, so that what an earlier life of the driver wrote does not count. A container that restarts in its pod is the same life.',
        { enum: ['Boot', 'Pod'] },
      ),
      expectedFirstLine: text(
        'First line that the file must have. Another one fails the check, and its first 200 characters are the reason.',
        { maxLength: 200 },
      ),
    },
  },
  voucher: 'agent',
  ofPodStart: { field: 'newerThan', value: 'Pod', otherwise: 'Boot' },
};
