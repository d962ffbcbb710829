import { createSocket, type Socket } from 'node:dgram';

const TYPES: Readonly<Record<number, 'A' | 'AAAA'>> = { 1: 'A', 28: 'AAAA' };
const SERVFAIL = 2;
const NXDOMAIN = 3;

type Trouble = 'servfail' | 'silence' | 'nxdomain';
export type DnsAnswer = { A?: string[] | Trouble; AAAA?: string[] | Trouble } | Trouble;

/** A DNS server of a few lines. Names that it does not know do not exist. */
export class TestDnsServer {
  readonly asked: string[] = [];
  readonly #socket: Socket = createSocket('udp4');
  readonly #zone: Readonly<Record<string, DnsAnswer>>;

  constructor(zone: Readonly<Record<string, DnsAnswer>>) {
    this.#zone = zone;
  }

  async start(): Promise<this> {
    this.#socket.on('message', (query, { port, address }) => {
      const answer = this.#answer(query);
      if (answer) this.#socket.send(answer, port, address);
    });
    await new Promise<void>((resolve) => this.#socket.bind(0, '127.0.0.1', resolve));
    return this;
  }

  /** As a line of a resolv.conf may name it. */
  get nameserver(): string {
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.#socket.close(() => resolve()));
  }

  #answer(query: Buffer): Buffer | undefined {
    const { name, end } = readName(query);
    const type = TYPES[query.readUInt16BE(end)];
    this.asked.push(`${type} ${name}`);
    const zone = this.#zone[name] ?? 'nxdomain';
    const found = typeof zone === 'string' ? zone : ((type && zone[type]) ?? []);
    if (found === 'silence') return undefined;
    if (typeof found !== 'string') return response(query, end, 0, found);
    return response(query, end, found === 'servfail' ? SERVFAIL : NXDOMAIN, []);
  }
}

function readName(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

/** https://www.rfc-editor.org/rfc/rfc1035#section-4.1 */
function response(query: Buffer, nameEnd: number, code: number, addresses: readonly string[]): Buffer {
  const question = query.subarray(12, nameEnd + 4);
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | code, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(addresses.length, 6);
  const records = addresses.map((address) => {
    const data = address.includes(':')
      ? Buffer.from(
          address
            .split(':')
            .map((part) => part.padStart(4, '0'))
            .join(''),
          'hex',
        )
      : Buffer.from(address.split('.').map(Number));
    // A pointer to the name of the question; its type and class; 1 s.
    const fixed = Buffer.concat([Buffer.from([0xc0, 12]), question.subarray(-4), Buffer.from([0, 0, 0, 1])]);
    return Buffer.concat([fixed, Buffer.from([0, data.length]), data]);
  });
  return Buffer.concat([header, question, ...records]);
}
