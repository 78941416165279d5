/** One line of a cart or invoice; prices in cents, without tax. */
export interface Line {
  readonly sku: string;
  readonly cents: number;
  readonly count: number;
  readonly reduced: boolean;
}

const STANDARD = 0.19;
const REDUCED = 0.07;

/** What the cart shows, in cents. */
export function cartTotal(lines: readonly Line[]): number {
  let total = 0;
  for (const line of lines) {
    const net = line.cents * line.count;
    const rate = line.reduced ? REDUCED : STANDARD;
    total += Math.round(net * (1 + rate));
  }
  return total;
}

/** What the invoice says, in cents, with the tax of each rate. */
export function invoiceTotal(lines: readonly Line[]): { total: number; tax: Map<number, number> } {
  const tax = new Map<number, number>();
  let net = 0;
  for (const line of lines) {
    const sum = line.cents * line.count;
    net += sum;
    const rate = line.reduced ? 0.07 : 0.19;
    tax.set(rate, (tax.get(rate) ?? 0) + sum * rate);
  }
  let total = net;
  for (const [rate, amount] of tax) {
    const rounded = Math.round(amount);
    tax.set(rate, rounded);
    total += rounded;
  }
  return { total, tax };
}
