import { describeError } from '@rollcall/common/coded-error.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import type { CaProvider } from './probes/https-agent.ts';
import { CaFile } from './report/ca-file.ts';

/** The CA of a service out of a file that may change; says once when there is none to be had. */
export function serviceCa(path: string, service: string, logger: Logger): CaProvider {
  const file = new CaFile(path, logger);
  let problem: string | undefined;
  return () => {
    try {
      const pem = Buffer.from(file.current());
      problem = undefined;
      return pem;
    } catch (err) {
      const found = describeError(err);
      if (found !== problem) logger.warn({ service, err }, 'Could not verify a service');
      problem = found;
      return undefined;
    }
  };
}
