/** As much of Protocol Buffers as health checks need (https://protobuf.dev/programming-guides/encoding). */

/** A number, or the bytes of a text or of a message within the message. */
export type Field = number | Uint8Array;

/** Bytes of a text field with a number below 16. */
export function encodeText(field: number, text: string): Uint8Array {
  const bytes = Buffer.from(text);
  return Buffer.concat([Uint8Array.of((field << 3) | 2), encodeVarint(bytes.length), bytes]);
}

/** The fields of a message by number; the last of those that repeat. Throws for what is no message. */
export function decodeFields(message: Uint8Array): Map<number, Field> {
  const fields = new Map<number, Field>();
  let at = 0;
  const take = (length: number) => {
    if (at + length > message.length) throw new RangeError('The message ends within a field');
    at += length;
    return message.subarray(at - length, at);
  };
  const takeVarint = () => {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const [byte = 0] = take(1);
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError('A number in the message has no end');
  };
  while (at < message.length) {
    const tag = takeVarint();
    const field = Math.floor(tag / 8);
    const wireType = tag % 8;
    if (wireType === 0) fields.set(field, takeVarint());
    else if (wireType === 2) fields.set(field, take(takeVarint()));
    else if (wireType === 1) take(8);
    else if (wireType === 5) take(4);
    else throw new RangeError('The message has a field of no known type');
  }
  return fields;
}

function encodeVarint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Uint8Array.of(...bytes, rest);
}
