const SLASH = '/';

/** Whether `text` holds `*` (any characters, or none) or `?` (one character). */
export function isGlob(text: string): boolean {
  return /[*?]/.test(text);
}

/**
 * Whether the whole of `text` matches. As in a shell, neither `*` nor `?` stands for a slash. It never goes back further
 * than to the last `*`, so that the worst case is the product of the two lengths, both of which are short.
 */
export function globMatches(pattern: string, text: string): boolean {
  let at = 0;
  let inPattern = 0;
  let star = -1;
  let starEnd = 0;
  while (at < text.length) {
    const wanted = pattern[inPattern];
    if (wanted === '*') {
      star = inPattern++;
      starEnd = at;
    } else if (wanted === text[at] || (wanted === '?' && text[at] !== SLASH)) {
      at++;
      inPattern++;
    } else if (star >= 0 && text[starEnd] !== SLASH) {
      inPattern = star + 1;
      at = ++starEnd;
    } else {
      return false;
    }
  }
  while (pattern[inPattern] === '*') inPattern++;
  return inPattern === pattern.length;
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
