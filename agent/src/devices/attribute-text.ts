/** What the coordinator takes as the value of an attribute, in characters. */
const VALUE_LENGTH_MAX = 1024;

/** An id as the kernel prints it (`0x10de`, `03e7`), in lower case and without prefix; `undefined` for anything else. */
export function hexId(text: string | undefined, digits: number): string | undefined {
  const id = text?.trim().toLowerCase().replace(/^0x/, '');
  return id?.length === digits && /^[0-9a-f]+$/.test(id) ? id : undefined;
}

/** Text without the space around it; `undefined` when it is empty, no text at all, or more than a report may hold. */
export function plainText(text: string | undefined): string | undefined {
  const plain = text?.trim() ?? '';
  // U+FFFD is what stands for bytes that are no UTF-8.
  const isText = plain !== '' && plain.length <= VALUE_LENGTH_MAX && !/[\p{Cc}\p{Cs}\uFFFD]/u.test(plain);
  return isText ? plain : undefined;
}
