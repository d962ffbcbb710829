import { KEY_LENGTH_MAX } from './checks/label-selector.ts';

/**
 * How many characters each text in a status of our kinds has at most, by the name of its field. The CRDs refuse more, so
 * that a stolen token cannot fill an object, and the coordinator cuts what it writes.
 */
export const STATUS_TEXT_LENGTHS = {
  message: 8192,
  reason: 512,
  key: KEY_LENGTH_MAX,
  effect: 32,
  ready: 32,
  lastTransitionTime: 40,
} as const;

type TextField = keyof typeof STATUS_TEXT_LENGTHS;

/** How many refused keys a status names. */
export const REFUSED_KEYS_MAX = 20;

/** Returns the same status with its texts cut. `field` is the name of the field that has the value. */
export function cutTexts<T>(value: T, field = ''): T {
  if (typeof value === 'string') return (isTextField(field) ? cutText(value, field) : value) as T;
  if (Array.isArray(value)) return value.map((each) => cutTexts(each, field)) as T;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, cutTexts(each, name)])) as T;
}

/** Returns the text, with an ellipsis at its end where it is longer than the field may be. */
export function cutText(text: string, field: TextField): string {
  const most = STATUS_TEXT_LENGTHS[field];
  return text.length > most ? `${text.slice(0, most - 1).toWellFormed()}…` : text;
}

function isTextField(field: string): field is TextField {
  return Object.hasOwn(STATUS_TEXT_LENGTHS, field);
}
