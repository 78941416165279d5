import type { Status } from "./status";

interface Label {
  readonly text: string;
  readonly colour: "grey" | "blue" | "green" | "red";
}

/** How each status is shown. The compiler wants every one of them. */
const LABELS: Readonly<Record<Status, Label>> = {
  draft: { text: "Draft", colour: "grey" },
  placed: { text: "Placed", colour: "blue" },
  paid: { text: "Paid", colour: "blue" },
  packed: { text: "Packed", colour: "blue" },
  shipped: { text: "Shipped", colour: "green" },
  delivered: { text: "Delivered", colour: "green" },
  returned: { text: "Returned", colour: "red" },
  cancelled: { text: "Cancelled", colour: "red" },
};

/** The label of a status. */
export function labelOf(status: Status): Label {
  return LABELS[status];
}

/** Whether the customer can still change the order. */
export function changeable(status: Status): boolean {
  return status === "draft" || status === "placed";
}
