// The one state: what the kernel said last. Messages go in, one function draws what came out.

import type { Go, Incoming, Rows, Run, Slice, View } from "./messages";

export interface Model {
  get(trait: "part" | "static_id"): string | undefined;
  send(message: unknown): void;
  on(event: "msg:custom", listener: (message: Incoming) => void): void;
  on(event: "comm_live_update", listener: () => void): void;
  off(event: "msg:custom" | "comm_live_update", listener: (message: Incoming) => void): void;
}

export class Link {
  view: View | null = null;
  slice: Slice | null = null;
  run: Run | null = null;
  private readonly listeners = new Map<Incoming["kind"], ((message: never) => void)[]>();
  private tellOfLife: (isAlive: boolean) => void = () => undefined;
  private readonly die = (): void => this.tellOfLife(false);
  private readonly receive = (message: Incoming): void => {
    this.tellOfLife(true);
    if (message.kind === "view") {
      if (this.view !== null && message.version < this.view.version) return;
      this.view = message;
    } else if (message.kind === "slice") this.slice = message;
    else if (message.kind === "run") this.run = message;
    for (const listener of this.listeners.get(message.kind) ?? []) listener(message as never);
  };

  constructor(private readonly model: Model) {
    model.on("msg:custom", this.receive);
    model.on("comm_live_update", this.die);
  }

  /** Called when the kernel is lost, and with whatever it says afterwards. */
  whenItsLifeChanges(tell: (isAlive: boolean) => void): void {
    this.tellOfLife = tell;
  }

  on<Kind extends Incoming["kind"]>(kind: Kind, listener: (message: Extract<Incoming, { kind: Kind }>) => void): void {
    const known = this.listeners.get(kind) ?? [];
    this.listeners.set(kind, [...known, listener as (message: never) => void]);
  }

  open(): void {
    this.model.send({ open: true });
  }

  do(action: string, details: object = {}): void {
    this.model.send({ do: action, ...details });
  }

  go(place: Go): void {
    this.do("go", place);
  }

  load(what: string): void {
    this.model.send({ load: what });
  }

  read(overwrite = false): void {
    this.model.send({ run: "read", overwrite });
  }

  cancel(): void {
    this.model.send({ run: "cancel" });
  }

  copy(what: string): void {
    this.model.send({ copy: what });
  }

  /** Does something to the timing screen, or asks it for something. */
  time(action: string, details: object = {}): void {
    this.model.send({ timing: action, ...details });
  }

  compare(action: string, details: object = {}): void {
    this.model.send({ compare: action, ...details });
  }

  ask(table: string, start: number, stop: number, details: object = {}): void {
    this.model.send({ ask: table, start, stop, version: this.view?.version ?? 0, ...details });
  }

  isCurrent(rows: Rows): boolean {
    return rows.version === this.view?.version;
  }

  close(): void {
    this.model.off("msg:custom", this.receive);
    this.model.off("comm_live_update", this.die);
    this.listeners.clear();
  }
}
