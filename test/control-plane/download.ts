import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Agent as HttpAgent, get as httpGet, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, get as httpsGet } from 'node:https';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const redirectsMax = 5;
/** Without a byte for this long, the host counts as away. */
const silenceMs = 15_000;

export interface DownloadOptions {
  readonly sha512: string;
  /** Where HTTPS_PROXY, HTTP_PROXY and NO_PROXY are looked up. */
  readonly variables: NodeJS.ProcessEnv;
  /** Reports the bytes so far, and the total if the server sends it. */
  readonly onProgress?: (bytes: number, total: number | undefined) => void;
}

/** Fetches `url` into `file`, which is only left there when its SHA-512 is the one expected. */
export async function download(url: string, file: string, options: DownloadOptions): Promise<void> {
  try {
    const response = await open(new URL(url), options.variables, redirectsMax);
    const length = Number(response.headers['content-length']);
    const total = Number.isFinite(length) ? length : undefined;
    const hash = createHash('sha512');
    let bytes = 0;
    const meter = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        hash.update(chunk);
        bytes += chunk.length;
        options.onProgress?.(bytes, total);
        done(null, chunk);
      },
    });
    await pipeline(response, meter, createWriteStream(file));
    const got = hash.digest('hex');
    if (got !== options.sha512) throw new Error(`${url}: checksum is ${got}, expected ${options.sha512}`);
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
}

function open(url: URL, variables: NodeJS.ProcessEnv, redirectsLeft: number): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const secure = url.protocol === 'https:';
    const agentOptions = { proxyEnv: variables };
    const outgoing = secure
      ? httpsGet(url, { agent: new HttpsAgent(agentOptions), timeout: silenceMs })
      : httpGet(url, { agent: new HttpAgent(agentOptions), timeout: silenceMs });
    outgoing.on('timeout', () => outgoing.destroy(new Error(`${url.host}: silent for ${silenceMs / 1000} s`)));
    outgoing.on('error', reject);
    outgoing.on('response', (response: IncomingMessage) => {
      const status = response.statusCode ?? 0;
      if (status === 200) return resolve(response);
      response.resume();
      const location = response.headers.location;
      if (status < 300 || status > 399 || location === undefined) return reject(new Error(`${url}: status ${status}`));
      if (redirectsLeft === 0) return reject(new Error(`${url}: more than ${redirectsMax} redirects`));
      const next = new URL(location, url);
      if (secure && next.protocol !== 'https:') return reject(new Error(`${url}: redirects to ${next.protocol}`));
      open(next, variables, redirectsLeft - 1).then(resolve, reject);
    });
  });
}
