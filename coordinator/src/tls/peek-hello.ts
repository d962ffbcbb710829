import type { Socket } from 'node:net';

/** A ClientHello has some 500 to 2,000 bytes. OpenSSL would reserve the claimed length, up to 128 KiB. */
const HELLO_BYTES_MAX = 8 * 1024;
/** RFC 8446, section 5: type, version and length of a record, then type and length of a message. */
const [RECORD_HEAD, MESSAGE_HEAD] = [5, 4];
const [HANDSHAKE, CLIENT_HELLO] = [22, 1];

/**
 * Waits for the whole ClientHello of a connection that nothing was read from, puts it back for the TLS socket, and calls
 * `begin`. Destroys a connection whose first bytes are anything but one of at most 8 KiB in one record.
 */
export function peekHello(raw: Socket, begin: () => void): void {
  let read = Buffer.alloc(0);
  const end = () => raw.destroy();
  const take = (bytes: Buffer) => {
    read = Buffer.concat([read, bytes]);
    const length = helloBytes(read);
    if (length === 'refused') return void raw.destroy();
    if (length === 'unknown' || read.length < length) return;
    raw.off('data', take).off('end', end).pause();
    raw.unshift(read);
    begin();
  };
  raw.on('data', take).once('end', end).resume();
}

/** The length of the record that is one ClientHello; `unknown` before enough has arrived. */
function helloBytes(bytes: Buffer): number | 'unknown' | 'refused' {
  const heads = RECORD_HEAD + MESSAGE_HEAD;
  if (bytes[0] !== HANDSHAKE || (bytes[RECORD_HEAD] ?? CLIENT_HELLO) !== CLIENT_HELLO) return 'refused';
  if (bytes.length < heads) return 'unknown';
  const length = RECORD_HEAD + bytes.readUInt16BE(3);
  const isOne = length === heads + bytes.readUIntBE(RECORD_HEAD + 1, 3);
  return isOne && length <= HELLO_BYTES_MAX ? length : 'refused';
}
