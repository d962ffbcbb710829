/** A Kubernetes quantity (apimachinery's resource.Quantity), split at its sign, its number and its suffix. */
const QUANTITY = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/;

const DECIMAL: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
};

/** How much a quantity as the API server writes it is; `undefined` for what is no quantity. */
export function quantityOf(text: string): number | undefined {
  const [, sign, number = '', suffix = ''] = QUANTITY.exec(text) ?? [];
  if (sign === undefined) return undefined;
  const amount = Number(number) * factorOf(suffix);
  return sign === '-' ? -amount : amount;
}

function factorOf(suffix: string): number {
  if (suffix.endsWith('i')) return 1024 ** ('KMGTPE'.indexOf(suffix.charAt(0)) + 1);
  return DECIMAL[suffix] ?? (suffix === '' ? 1 : 10 ** Number(suffix.slice(1)));
}
