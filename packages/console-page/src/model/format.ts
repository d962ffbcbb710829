/**
 * Characters that are not seen but change how the text around them is read: control characters, and those that turn the
 * direction of writing. Joiners stay, as emoji and several scripts need them.
 */
const UNSEEN = /[\p{Cc}\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;

/** Makes invisible characters in foreign text visible. */
export function visible(text: string): string {
  return text.replaceAll(UNSEEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

/** A time span for people: the two largest units. */
export function span(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  const [minutes, hours, days] = [Math.floor(whole / 60), Math.floor(whole / 3600), Math.floor(whole / 86_400)];
  if (hours < 1) return joined(minutes, 'min', whole % 60, 's');
  if (days < 1) return joined(hours, 'h', minutes % 60, 'min');
  return joined(days, 'd', hours % 24, 'h');
}

function joined(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

/** Short seconds with a decimal below ten, for what is measured rather than waited for. */
export function seconds(value: number): string {
  if (value === 0) return '0 s';
  if (value < 10) return `${value < 0.05 ? '<0.1' : value.toFixed(1)} s`;
  return span(value);
}

/** How long ago something was; `now` and `then` in milliseconds, or RFC 3339. */
export function ago(then: string | number, nowMs: number): string {
  const thenMs = typeof then === 'number' ? then : Date.parse(then);
  if (!Number.isFinite(thenMs)) return 'at an unknown time';
  const past = (nowMs - thenMs) / 1000;
  return past < 1 ? 'just now' : `${span(past)} ago`;
}

/** Time of day on the reader's clock, with seconds. */
export function timeOfDay(then: string | number): string {
  const date = new Date(then);
  return Number.isNaN(date.getTime()) ? '–' : date.toLocaleTimeString('en-GB');
}
