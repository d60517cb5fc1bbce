// The rows of a long table, as far as they were seen: asked for in blocks, old ones shown meanwhile.

const BLOCK = 100;

export class Blocks<Row> {
  private rows = new Map<number, Row>();
  private asked = new Set<number>();

  constructor(
    private readonly ask: (start: number, stop: number) => void,
    private readonly size = BLOCK,
  ) {}

  /** All rows may have changed; the old ones stay until the new ones come. */
  invalidate(): void {
    this.asked.clear();
  }

  /** The rows of [start, stop) are on their way, unasked. */
  expect(start: number, stop: number): void {
    for (let block = Math.floor(start / this.size); block * this.size < stop; block++) this.asked.add(block);
  }

  clear(): void {
    this.rows.clear();
    this.asked.clear();
  }

  row(index: number): Row | undefined {
    return this.rows.get(index);
  }

  need(start: number, stop: number): void {
    for (let block = Math.floor(start / this.size); block * this.size < stop; block++) {
      if (this.asked.has(block)) continue;
      this.asked.add(block);
      this.ask(block * this.size, (block + 1) * this.size);
    }
    if (this.rows.size > 20 * this.size) this.forget(start, stop);
  }

  take(start: number, rows: Row[]): void {
    rows.forEach((row, offset) => this.rows.set(start + offset, row));
  }

  private forget(start: number, stop: number): void {
    for (const index of this.rows.keys()) {
      if (index < start - this.size || index >= stop + this.size) {
        this.rows.delete(index);
        this.asked.delete(Math.floor(index / this.size));
      }
    }
  }
}
