import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ALONE } from '../alone.ts';
import {
  BANNED_PHRASES,
  ENVIRONMENT_FILES,
  LARGE_FILES,
  LINES_MAX,
  PURE_ROOMS,
  ROOM_IMPORTS,
  SHARED_ROOT_FILES,
} from './rooms.ts';
import { importsOf, isTestCode, ROOT, repositoryFiles, resolveImport, roomOf, type SourceFile } from './sources.ts';

const files = repositoryFiles();
const sources = files.filter(({ path: name }) => /\.tsx?$/.test(name));
const production = sources.filter(({ path: name }) => !isTestCode(name));

/** Lines of the files in which the pattern is found, as `file:line`. */
function found(pattern: RegExp, within: readonly SourceFile[]): string[] {
  return within.flatMap(({ path: name, text }) =>
    text.split('\n').flatMap((line, index) => (pattern.test(line) ? [`${name}:${index + 1}`] : [])),
  );
}

describe('rooms', () => {
  test('import only from where data comes to them', () => {
    const wrong = production.flatMap((file) => {
      const room = roomOf(file.path);
      const allowed = ROOM_IMPORTS[room];
      return importsOf(file).flatMap((specifier) => {
        const target = resolveImport(file.path, specifier);
        const other = target && roomOf(target);
        if (!target || other === undefined || other === room) return [];
        if (['coordinator', 'coordinator/app', 'deploy/source', 'test'].includes(room)) return [];
        const isShared = other !== 'agent' || SHARED_ROOT_FILES.includes(target);
        return allowed?.includes(other) && isShared ? [] : [`${file.path} imports ${target}`];
      });
    });
    expect(wrong).toEqual([]);
  });

  test.each([
    ['rooms', (room: string) => room],
    ['top folders', (room: string) => room.split('/').slice(0, 2).join('/')],
  ])('of the coordinator have no circle, and at most ten floors below its entry point: %s', (_what, groupOf) => {
    const below = new Map<string, Set<string>>();
    for (const file of production.filter(({ path: name }) => name.startsWith('coordinator/src/'))) {
      const group = groupOf(roomOf(file.path));
      const others = importsOf(file).flatMap((specifier) => {
        const target = resolveImport(file.path, specifier);
        return target?.startsWith('coordinator/src/') ? groupOf(roomOf(target)) : [];
      });
      below.set(group, new Set([...(below.get(group) ?? []), ...others.filter((other) => other !== group)]));
    }
    const floorOf = (group: string, above: readonly string[] = []): number => {
      if (above.includes(group)) throw new Error(`a circle: ${[...above, group].join(' imports ')}`);
      const floors = [...(below.get(group) ?? [])].map((other) => floorOf(other, [...above, group]));
      return 1 + Math.max(0, ...floors);
    };
    expect(floorOf('coordinator')).toBeLessThanOrEqual(11);
  });

  test('that are pure have no clock, no I/O and no logger of their own', () => {
    const pure = production.filter(({ path: name }) => PURE_ROOMS.includes(roomOf(name)));
    expect(pure.length).toBeGreaterThan(10);
    expect(pure.flatMap((file) => importsOf(file).filter((name) => /^node:|logging|^pino/.test(name)))).toEqual([]);
    expect(found(/Date\.now|new Date\(|setTimeout|setInterval|Math\.random|performance\./, pure)).toEqual([]);
  });

  test('each have a README', () => {
    const rooms = ['agent/src', 'coordinator/src', 'test'].flatMap((parent) =>
      readdirSync(path.join(ROOT, parent), { withFileTypes: true })
        .filter((entry) => entry.isDirectory() && !/^(node_modules|e2e)$/.test(entry.name))
        .map((entry) => `${parent}/${entry.name}`),
    );
    const nested = Object.keys(ROOM_IMPORTS).filter((room) => room.startsWith('coordinator/'));
    rooms.push(...nested.map((room) => room.replace('coordinator/', 'coordinator/src/')));
    rooms.push(
      'agent',
      'coordinator',
      'packages/common',
      'packages/console-page',
      'packages/scheduler-extender',
      'test',
    );
    expect(rooms.filter((room) => !existsSync(path.join(ROOT, room, 'README.md')))).toEqual([]);
  });
});

describe('the agent', () => {
  const agent = production.filter(({ path: name }) => /^(agent|packages\/common)\//.test(name));

  test('never uses a Kubernetes client, zod, or the global fetch', () => {
    const banned = /^(@kubernetes\/|zod|@rollcall\/coordinator|fastify|undici)/;
    expect(agent.flatMap((file) => importsOf(file).filter((name) => banned.test(name)))).toEqual([]);
    expect(found(/\bfetch\(/, agent)).toEqual([]);
  });

  test('never uses node:http2, whose native part a peer can make abort the process', () => {
    expect(
      found(
        /['"](node:)?http2['"]/,
        agent.filter(({ path: name }) => !name.endsWith('/http2-probe.ts')),
      ),
    ).toEqual([]);
    expect(agent.flatMap((file) => importsOf(file).filter((name) => /^(node:)?http2$/.test(name)))).toEqual([]);
  });

  test('loads node:http and node:https without the price of their ESM namespace', () => {
    expect(found(/^import (?!type).*'node:https?'/, agent)).toEqual([]);
  });
});

describe('every file', () => {
  test('is small', () => {
    const large = sources.filter(({ lines }) => lines > LINES_MAX).map(({ path: name }) => name);
    expect(large.filter((name) => !(name in LARGE_FILES))).toEqual([]);
    expect(Object.keys(LARGE_FILES).filter((name) => !large.includes(name))).toEqual([]);
  });

  test('has a name in kebab-case', () => {
    expect(sources.map(({ path: name }) => path.basename(name)).filter((name) => !/^[a-z0-9.-]+$/.test(name))).toEqual(
      [],
    );
  });

  test('is finished', () => {
    expect(found(new RegExp(['TO', 'DO|FIX', 'ME|XX', 'X\\b'].join('')), files)).toEqual([]);
  });

  test.each(BANNED_PHRASES)('does not say %j, which has to be guessed', (phrase) => {
    const word = `\\b${phrase}\\b`;
    const spoken = new RegExp(`(//|^\\s*\\*|/\\*\\*).*${word}|\\b(test|it|describe)\\b.*['"\`].*${word}`, 'i');
    const written = new RegExp(word, 'i');
    const documents = files.filter(({ path: name }) => name.endsWith('.md') && name !== 'CHANGELOG.md');
    expect([...found(spoken, sources), ...found(written, documents)]).toEqual([]);
  });

  test('begins no docstring of production code with "Where", which is no noun or verb', () => {
    expect(found(/^\s*\/\*\* Where\b/, production)).toEqual([]);
  });

  test('names no package registry', () => {
    const hosts = ['registry\\.npm', 'js\\.org', '|proxy\\.', 'golang', '\\.org|deb\\.', 'debian', '\\.org'].join('');
    expect(
      found(
        new RegExp(hosts),
        files.filter(({ path: name }) => !name.startsWith('test/tidy/')),
      ),
    ).toEqual([]);
  });
});

test('whatever is said to run alone is a test', () => {
  const tests = sources.map(({ path: name }) => name).filter((name) => name.endsWith('.test.ts'));
  expect(Object.keys(ALONE).filter((name) => !tests.includes(name))).toEqual([]);
});

describe('production code', () => {
  test('logs by the logger, and never to the console', () => {
    expect(found(/\bconsole\.(log|error|warn|info|debug)/, sources)).toEqual([]);
  });

  test('reads the environment only where the program is put together', () => {
    const elsewhere = sources.filter(({ path: name }) => !ENVIRONMENT_FILES.some((pattern) => pattern.test(name)));
    expect(
      found(
        /process\.env/,
        elsewhere.filter(({ path: name }) => !name.endsWith('.test.ts')),
      ),
    ).toEqual([]);
  });

  test('does nothing on import but in the entry points', () => {
    const modules = production.filter(({ path: name }) => !/main\.tsx?$|^build\.ts$|vitest\.config/.test(name));
    expect(found(/^(await |setTimeout|setInterval|process\.on)/, modules)).toEqual([]);
  });
});
