// What every screen is: an element, redrawn with each view, that takes rows as they come.

import type { Rows } from "../messages";

export type Keys = [key: string, does: string][];

export interface Screen<Body> {
  readonly element: HTMLElement;
  update(body: Body): void;
  rows(answer: Rows): void;
  close(): void;
  /** The keys that do something here now. */
  keys(): Keys;
  /** It is shown again: what is scrolled is there once more. */
  enter?(): void;
  /** Takes the focus, for what had it is gone. */
  focus(): void;
  search?(): void;
}
