// What every screen is: an element, redrawn with each view, that takes rows as they come.

import type { Rows } from "../messages";

export interface Screen<Body> {
  readonly element: HTMLElement;
  update(body: Body): void;
  rows(answer: Rows): void;
  close(): void;
  search?(): void;
}
