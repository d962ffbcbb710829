import { existsSync } from 'node:fs';
import path from 'node:path';
import { registerAgentMetrics } from '@rollcall/agent/metrics.ts';
import { AGENT_OPTIONS } from '@rollcall/agent/options.ts';
import { flagName } from '@rollcall/common/config/option.ts';
import { ERROR_CODES } from '@rollcall/common/error-codes.ts';
import { createRegistry } from '@rollcall/common/metrics.ts';
import { COORDINATOR_OPTIONS } from '@rollcall/coordinator/model/options.ts';
import { OTHER_POOL } from '@rollcall/coordinator/subscribers/status/set-status.ts';
import { expect, test } from 'vitest';
import { registerCoordinatorMetrics } from '../../deploy/source/coordinator-metrics.ts';
import { ALERTS } from '../../deploy/source/monitoring/alerts.ts';
import { isTestCode, ROOT, repositoryFiles } from '../tidy/sources.ts';
import { FLAT_VALUES } from './chart-values.ts';
import { FOREIGN_FLAGS, SCRIPT_FLAGS } from './foreign-flags.ts';
import { testsOf } from './projects.ts';

/*
 * Names in the documents exist. CHANGELOG.md describes the past, and is left out.
 */
const files = repositoryFiles();
const pages = files.filter(({ path: name }) => name.endsWith('.md') && name !== 'CHANGELOG.md');
const source = files.filter(({ path: name }) => /\.tsx?$/.test(name) && !isTestCode(name));
const sourceText = source.map(({ text }) => text).join('\n');

/** What `pattern` finds in the pages, by its first group, as `page: name`; those that are not `known` are left. */
function unknown(pattern: RegExp, known: (name: string) => boolean, within = pages): string[] {
  return within.flatMap(({ path: page, text }) =>
    [...text.matchAll(pattern)].flatMap(([, name = '']) => (known(name) ? [] : [`${page}: ${name}`])),
  );
}

/** Fails where a pattern finds hardly anything any more: then it is the pattern that is out of date. */
function expectNames(pattern: RegExp, atLeast: number): void {
  expect(pages.flatMap(({ text }) => [...text.matchAll(pattern)]).length).toBeGreaterThanOrEqual(atLeast);
}

test('flags', () => {
  const FLAG = /(?<![\w<!-])--([a-z][a-z0-9-]+)(?!-?>)/g;
  const options = [...Object.keys(AGENT_OPTIONS), ...Object.keys(COORDINATOR_OPTIONS)];
  const own = new Set([...options.map((key) => flagName(key).slice(2)), ...SCRIPT_FLAGS, ...FOREIGN_FLAGS]);
  expect(unknown(FLAG, (name) => own.has(name))).toEqual([]);
  expectNames(FLAG, 300);
});

test('metrics', async () => {
  const METRIC = /\b((?:rollcall_(?:agent|coordinator)|gitpod)_[a-z_]+[a-z])\b/g;
  const agent = createRegistry('rollcall_agent');
  registerAgentMetrics(agent);
  const coordinator = createRegistry('rollcall_coordinator');
  registerCoordinatorMetrics(coordinator);
  const all = [...(await agent.getMetricsAsJSON()), ...(await coordinator.getMetricsAsJSON())];
  const names = new Set(all.map(({ name }) => name));
  expect(unknown(METRIC, (name) => names.has(name.replace(/_(bucket|count|sum)$/, '')) || names.has(name))).toEqual([]);
  expectNames(METRIC, 80);
});

test('alerts', () => {
  const ALERT = /\b(Rollcall[A-Z][A-Za-z]+)\b/g;
  const names = new Set<string>(ALERTS.map(({ name }) => name));
  expect(unknown(ALERT, (name) => names.has(name))).toEqual([]);
  expectNames(ALERT, 80);
});

test('values of the chart', () => {
  const sections =
    'image|gitpod|agent|coordinator|tls|rules|services|holds|pools|crds|policies|scheduler|networkPolicy|monitoring|priorityClass|uninstall';
  const VALUE = new RegExp(`(?:\`|--set )((?:${sections})(?:\\.[A-Za-z]+)+)(?:=[^\`\\s]*|: [^\`]*)?(?=[\`\\s])`, 'g');
  const isFile = (name: string) => /\.(ts|yaml|md|key|crt)$/.test(name);
  // Under these the user chooses the keys.
  const isFree = (name: string) => /^(services|holds)\.(?!allowedPrefixes)/.test(name);
  // A field in a document of the console.
  const isField = (name: string) => name === 'agent.lastReportSecondsAgo';
  expect(unknown(VALUE, (name) => FLAT_VALUES.has(name) || isFile(name) || isFree(name) || isField(name))).toEqual([]);
  expectNames(VALUE, 100);
});

test('messages of the log, as they are quoted', () => {
  const MESSAGE = /"([A-Z][a-z]+ [a-z][^"\n]{5,90})"/g;
  expect(unknown(MESSAGE, (message) => sourceText.includes(message))).toEqual([]);
  expectNames(MESSAGE, 20);
});

test('paths of the console', () => {
  const PATH = /(?<![\w.:*])(\/v1\/[a-z]+)\b/g;
  const served = new Set([...sourceText.matchAll(/'(\/v1\/[a-z]+)'/g)].map(([, served = '']) => served));
  // Paths of the API server, and paths of Nodes, which contain a name.
  const others = ['/v1/namespaces', '/v1/jwks', '/v1/nodepool'];
  expect(unknown(PATH, (name) => served.has(name) || others.includes(name))).toEqual([]);
  expectNames(PATH, 40);
});

test('files of this repository', () => {
  const FILE = /`((?:agent|coordinator|deploy|packages|test)\/[^`\s*]+)`/g;
  // Files that a build or the reader creates.
  const isMade = (name: string) => /\/dist\b|BUS|NAME|udp-probe|kinds\/udp|volume-attachment|\.\.\.|…|[{}]/.test(name);
  expect(unknown(FILE, (name) => isMade(name) || existsSync(path.join(ROOT, name.replace(/[:#].*$/, ''))))).toEqual([]);
  expectNames(FILE, 100);
});

test('scripts of npm', () => {
  const SCRIPT =
    /\bnpm (?:run )?(test:[a-z-]*[a-z]|start|test|build|check|executables|fix|generate|image|mutants|release)\b/g;
  const { scripts } = JSON.parse(files.find(({ path: name }) => name === 'package.json')?.text ?? '{}');
  expect(unknown(SCRIPT, (name) => name in scripts)).toEqual([]);
  expectNames(SCRIPT, 30);
  expect(unknown(/\bnpm run ([a-z:0-9-]*[a-z0-9])/g, (name) => name in scripts)).toEqual([]);
});

test('tests that a command of vitest runs', () => {
  const COMMAND = /\bvitest run ((?:--project [a-z0-9-]+ )+(?:agent|coordinator|deploy|packages|test)\/[^\s`]+)/g;
  expect(unknown(COMMAND, (command) => testsOf(command, files).length > 0)).toEqual([]);
  expectNames(COMMAND, 10);
});

test('Events, all of which are listed', () => {
  const page = files.find(({ path: name }) => name === 'packages/docs/reference/events.md')?.text ?? '';
  const recorded = source
    .filter(({ path: name }) =>
      /subscribers\/(announcer|eviction|create-subscribers|status\/pool-status-controller)|app\/service-registry\.ts$/.test(
        name,
      ),
    )
    .flatMap(({ text }) => [
      ...text.matchAll(/(?:type: '(?:Normal|Warning)',\s+|^ {4})reason: '([A-Z][A-Za-z]+)'/gm),
      ...text.matchAll(/const reason = .* \? '([A-Z][A-Za-z]+)' : OTHER_POOL/g),
    ])
    .map(([, reason = '']) => reason);
  const reasons = [...new Set([...recorded, OTHER_POOL])].sort();
  expect(reasons.length).toBeGreaterThanOrEqual(12);
  const named = [...page.matchAll(/^\| `([A-Za-z]+)` \|/gm)].map(([, reason = '']) => reason);
  expect(named.sort()).toEqual(reasons);
});

test('reasons why a NodeService is not in force, all of which are listed', () => {
  const page = files.find(({ path: name }) => name === 'packages/docs/reference/node-services.md')?.text ?? '';
  const decided = source.filter(({ path: name }) => /state\/services\/(acceptance|budgets)\.ts$/.test(name));
  const text = decided.map((file) => file.text).join('');
  const reasons = new Set([...text.matchAll(/reason: '([A-Z][A-Za-z]+)'/g)].map(([, reason = '']) => reason));
  expect(reasons.size).toBeGreaterThanOrEqual(14);
  expect([...reasons].filter((reason) => !page.includes(`\`${reason}\``))).toEqual([]);
});

test('error codes, variables and constants', () => {
  const NAME = /`([A-Z]+(?:_[A-Z]+)+)`/g;
  const text = files.filter(({ path: name }) => !name.endsWith('.md')).map((file) => file.text);
  const names = new Set([...text.join('\n').matchAll(/\b([A-Z]+(?:_[A-Z]+)+)\b/g)].map(([, name = '']) => name));
  // Variables of kubelets, of Google's instance templates and of Node.js.
  const others = /_SERVICE_HOST$|^AUTOSCALER_ENV_VARS$|^NODE_LABELS$|^NODE_EXTRA_CA_CERTS$/;
  expect(unknown(NAME, (name) => name in ERROR_CODES || names.has(name) || others.test(name))).toEqual([]);
  expectNames(NAME, 40);
});
