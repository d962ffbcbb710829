/** A Kubernetes quantity (apimachinery's resource.Quantity), split at its sign and its number. */
const QUANTITY = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/;

/** Whether a quantity as the API server writes it is more than nothing; what is no quantity is not. */
export function isPositiveQuantity(quantity: string): boolean {
  const [, sign, number = ''] = QUANTITY.exec(quantity) ?? [];
  return sign !== '-' && /[1-9]/.test(number);
}
