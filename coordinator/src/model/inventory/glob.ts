const SLASH = '/';

/** Whether `text` holds `*` (any characters, or none) or `?` (one character). */
export function isGlob(text: string): boolean {
  return /[*?]/.test(text);
}

/**
 * Whether the whole of `text` matches. As in a shell, neither `*` nor `?` stands for a slash. All beginnings of the pattern
 * that the text can have matched so far are the bits of a set (Shift-And): the cost is that of the text, for each 32
 * characters of the pattern, whatever it repeats.
 */
export function globMatches(pattern: string, text: string): boolean {
  let at = 0;
  for (; at < pattern.length && pattern[at] !== '*'; at += 1) {
    const isMatch = pattern[at] === '?' ? at < text.length && text[at] !== SLASH : pattern[at] === text[at];
    if (!isMatch) return false;
  }
  if (at === pattern.length) return at === text.length;
  if (at === pattern.length - 1) return !text.includes(SLASH, at);
  return matchesFromStar(pattern.slice(at), text.slice(at));
}

function matchesFromStar(pattern: string, text: string): boolean {
  const words = (pattern.length >>> 5) + 1;
  const none = new Uint32Array(words);
  /** Beginnings that go on with a character, with any, and that a `*` follows. */
  const wanted = new Map<string, Uint32Array>();
  const any = new Uint32Array(words);
  const stars = new Uint32Array(words);
  const put = (to: Uint32Array, bit: number) => {
    to[bit >>> 5] = (to[bit >>> 5] ?? 0) | (1 << (bit & 31));
  };
  let length = 0;
  for (const char of pattern) {
    if (char === '*') {
      put(stars, length);
      continue;
    }
    const places = char === '?' ? any : (wanted.get(char) ?? new Uint32Array(words));
    if (char !== '?') wanted.set(char, places);
    put(places, length);
    length += 1;
  }
  const matched = new Uint32Array(words);
  matched[0] = 1;
  for (const char of text) {
    const own = wanted.get(char) ?? none;
    const isSlash = char === SLASH;
    let carry = 0;
    for (let word = 0; word < words; word += 1) {
      const before = matched[word] ?? 0;
      const goOn = before & ((own[word] ?? 0) | (isSlash ? 0 : (any[word] ?? 0)));
      matched[word] = (goOn << 1) | carry | (isSlash ? 0 : before & (stars[word] ?? 0));
      carry = goOn >>> 31;
    }
  }
  return (((matched[length >>> 5] ?? 0) >>> (length & 31)) & 1) === 1;
}

/**
 * Texts of which `isValid` takes at least one if the glob can match anything valid: with each `*` left out, and with a
 * letter where leaving it out would leave a text that ends in punctuation. (Where both fail and a third would not, the
 * pattern is within a letter of the longest key there can be.)
 */
export function canMatch(pattern: string, isValid: (text: string) => boolean): boolean {
  const letters = pattern.replaceAll('?', 'a');
  if (isValid(letters.replaceAll('*', ''))) return true;
  return isValid(letters.replace(/(?<![A-Za-z0-9])\*|\*(?![A-Za-z0-9])/g, 'a').replaceAll('*', ''));
}
