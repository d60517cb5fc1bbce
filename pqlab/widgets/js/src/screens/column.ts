// One column across the row groups.

import { h } from "../dom";
import type { Link } from "../link";
import type { ColumnBody } from "../messages";
import type { Screen } from "./screen";
import { table } from "./table";

export function column(link: Link): Screen<ColumnBody> {
  let leaf = 0;
  const rows = table(link, "column", "The column across row groups", {
    open: (row_group) => link.go({ screen: "chunk", leaf, row_group }),
  });
  const element = h(
    "div",
    { class: "pq-screen" },
    rows.element,
  );

  function update(body: ColumnBody): void {
    leaf = body.leaf;
    rows.update(body.table);
  }

  return {
    element,
    update,
    rows: rows.take,
    close: rows.close,
    enter: rows.enter,
    focus: () => rows.element.focus(),
    keys: () => [
      ["↑ ↓", "moves"],
      ["Enter", "opens the chunk"],
    ],
  };
}
