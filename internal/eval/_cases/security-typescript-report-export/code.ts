import type { Booking } from "../bookings";

const COLUMNS = ["date", "customer", "text", "amount"] as const;

/** A cell as RFC 4180 wants it, inert in spreadsheets. */
function cell(value: string): string {
  // A cell that begins like this is taken for a formula.
  const inert = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return `"${inert.replaceAll('"', '""')}"`;
}

function amount(cents: number): string {
  const sign = cents < 0 ? "-" : "";
  const whole = Math.trunc(Math.abs(cents) / 100);
  const rest = String(Math.abs(cents) % 100).padStart(2, "0");
  return `${sign}${whole}.${rest}`;
}

/** The bookings of one month, with a head, lines ended as RFC 4180 says. */
export function toCSV(bookings: readonly Booking[]): string {
  const lines = [COLUMNS.join(",")];
  for (const b of bookings) {
    lines.push(
      [cell(b.date.toISOString().slice(0, 10)), cell(b.customer), cell(b.text), amount(b.cents)].join(","),
    );
  }
  return lines.join("\r\n") + "\r\n";
}
