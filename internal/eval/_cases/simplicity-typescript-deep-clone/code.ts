/** Plain data: what the document consists of. */
export type Data = null | boolean | number | string | Date | Data[] | { [key: string]: Data };

function clone(value: Data): Data {
  if (value === null || typeof value !== "object") {
    return value;
  }
  if (value instanceof Date) {
    return new Date(value.getTime());
  }
  if (Array.isArray(value)) {
    return value.map((v) => clone(v));
  }
  const out: { [key: string]: Data } = {};
  for (const key of Object.keys(value)) {
    out[key] = clone(value[key]);
  }
  return out;
}

/** The states of a document, with a place among them. */
export class History {
  private readonly states: Data[] = [];
  private at = -1;

  constructor(private readonly most: number) {}

  /** Adds a state; those that were undone are dropped. */
  push(state: Data): void {
    this.states.splice(this.at + 1);
    this.states.push(clone(state));
    if (this.states.length > this.most) {
      this.states.shift();
    }
    this.at = this.states.length - 1;
  }

  undo(): Data | undefined {
    if (this.at <= 0) {
      return undefined;
    }
    this.at--;
    return clone(this.states[this.at]);
  }

  redo(): Data | undefined {
    if (this.at + 1 >= this.states.length) {
      return undefined;
    }
    this.at++;
    return clone(this.states[this.at]);
  }
}
