import '@rollcall/common/early-signals.ts';
import { readFileSync } from 'node:fs';
import { systemClock } from '@rollcall/common/clock.ts';
import { describeError } from '@rollcall/common/coded-error.ts';
import { configInvalid } from '@rollcall/common/config/load.ts';
import { valuesOrExit } from '@rollcall/common/config/values-or-exit.ts';
import { runProgram } from '@rollcall/common/lifecycle.ts';
import { createLogger, logLevelOf, silentLogger } from '@rollcall/common/logging.ts';
import { startCoordinator } from './app/coordinator.ts';
import { startPrune } from './app/prune.ts';
import { registryFacadeCa } from './app/service-registry.ts';
import { openRules } from './decide/rules/files/rule-directory.ts';
import { openApiAccess } from './kube/open-api-access.ts';
import { type CoordinatorConfig, loadConfig, loadEnvironment, PROGRAM_NAME } from './model/config.ts';
import { settingsWithoutEffect } from './model/device-fields.ts';
import { KeyRegistry } from './model/keys/key-registry.ts';
import { CertificateHolder } from './tls/certificate-holder.ts';
import { readClientCas } from './tls/client-cas.ts';
import { FileCertificates } from './tls/file-certificates.ts';

const { env } = process;
const readFile = (path: string) => readFileSync(path, 'utf8');
const environment = loadEnvironment({ env, readFile });
const setup = await valuesOrExit(PROGRAM_NAME, async () => {
  const loaded = await loadConfig({ argv: process.argv.slice(2), env, readFile }, environment);
  if (loaded.action === 'print') return loaded;
  const config = loaded.values;
  if (!config.prune) {
    await checkCertificateFiles(config);
    await openRules(config, { keys: new KeyRegistry(config), clock: systemClock, logger: silentLogger() });
  }
  const { kubeconfig = '', master = '', apiFields: fields } = config;
  const access = await openApiAccess({ kubeconfig, master, fields, env });
  return { action: 'run', values: { config, access, environment } };
});
const { jsonLog, verbose, prune } = setup.config;
const logger = createLogger({ json: jsonLog, verbose, level: logLevelOf(env['LOG_LEVEL']), component: 'coordinator' });
const withoutEffect = settingsWithoutEffect(setup.config);
if (withoutEffect.length > 0) logger.warn({ settings: withoutEffect }, 'Accepted settings that have no effect');
// A Job that is told to end before nothing is left has failed, so that it is run again.
const interruptedCode = prune ? 1 : 0;
const start = prune ? startPrune : startCoordinator;
await runProgram(logger, (life) => start(setup, logger, life), interruptedCode);

/** Throws CONFIG_INVALID when the files are named and no good. */
async function checkCertificateFiles(config: CoordinatorConfig): Promise<void> {
  const { tlsCertFile: certFile, tlsKeyFile: keyFile } = config;
  readClientCas(config);
  try {
    registryFacadeCa(config, silentLogger());
  } catch (err) {
    throw configInvalid('--registry-facade-ca-file', describeError(err), err);
  }
  if (certFile === undefined || keyFile === undefined) return;
  const certificates = new CertificateHolder();
  await new FileCertificates({ certFile, keyFile, certificates, clock: systemClock, logger: silentLogger() }).load();
}
