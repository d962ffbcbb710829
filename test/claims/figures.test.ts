import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../tidy/sources.ts';
import { OVERVIEW } from './overview.ts';
import { PROOFS } from './proofs.ts';
import { RECORDS } from './records.ts';
import { ROOMS } from './rooms.ts';

const flowing = (text: string) => text.replace(/\s+/g, ' ');

test.each([OVERVIEW, ROOMS, PROOFS, RECORDS].flatMap(Object.entries<readonly string[]>))(
  '%s has the figures of the source',
  (page, claims) => {
    const text = flowing(readFileSync(path.join(ROOT, page), 'utf8'));
    expect(claims.filter((claim) => !text.includes(flowing(claim)))).toEqual([]);
  },
);
