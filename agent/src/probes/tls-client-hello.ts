/** Two bytes, high byte first, of each number. */
function u16(...numbers: number[]): number[] {
  return numbers.flatMap((number) => [number >> 8, number & 0xff]);
}

/** A vector with its length in one byte before it. */
function vector8(bytes: number[]): number[] {
  return [bytes.length, ...bytes];
}

/** A vector with its length in two bytes before it. */
function vector16(bytes: number[]): number[] {
  return [...u16(bytes.length), ...bytes];
}

function extension(type: number, body: number[]): number[] {
  return [...u16(type), ...vector16(body)];
}

const TLS_1_2 = 0x0303;
const TLS_1_3 = 0x0304;
const X25519 = 0x001d;
const SECP256R1 = 0x0017;

/** AES-128-GCM, AES-256-GCM and ChaCha20: of TLS 1.3, then with ECDHE over ECDSA and RSA of TLS 1.2. */
const CIPHER_SUITES = [0x1301, 0x1302, 0x1303, 0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9, 0xcca8];
/** ECDSA P-256 and P-384, Ed25519, RSA-PSS, and PKCS#1 for the certificates of TLS 1.2. */
const SIGNATURE_ALGORITHMS = [0x0403, 0x0503, 0x0807, 0x0804, 0x0805, 0x0806, 0x0401, 0x0501, 0x0601];
/** The base point of X25519: the simplest valid public key. */
const KEY_SHARE = [9, ...filled(31, 0)];

function filled(length: number, value: number): number[] {
  return new Array<number>(length).fill(value);
}

function clientHello(): Uint8Array {
  const body = [
    ...u16(TLS_1_2),
    ...filled(32, 0x52),
    ...vector8([]),
    ...vector16(u16(...CIPHER_SUITES)),
    ...vector8([0]),
    ...vector16([
      ...extension(10, vector16(u16(X25519, SECP256R1))),
      ...extension(11, vector8([0])),
      ...extension(13, vector16(u16(...SIGNATURE_ALGORITHMS))),
      ...extension(43, vector8(u16(TLS_1_3, TLS_1_2))),
      ...extension(51, vector16([...u16(X25519), ...vector16(KEY_SHARE)])),
    ]),
  ];
  const handshake = [1, 0, ...vector16(body)];
  return Uint8Array.from([22, ...u16(0x0301), ...vector16(handshake)]);
}

/**
 * A ClientHello that servers of TLS 1.2 and 1.3 understand (RFC 8446 section 4.1.2), without a server name. Its random
 * value and key share are constants: the handshake is never finished, so there is nothing to protect.
 */
export const CLIENT_HELLO = clientHello();
