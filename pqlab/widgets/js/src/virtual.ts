// Which rows of a long list are in view.

import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";

export interface Virtual {
  readonly virtualizer: Virtualizer<HTMLElement, HTMLElement>;
  close(): void;
}

export function virtual(
  element: HTMLElement,
  options: { count: number; size: number; before?: number; horizontal?: boolean; change: () => void },
): Virtual {
  const virtualizer = new Virtualizer<HTMLElement, HTMLElement>({
    count: options.count,
    getScrollElement: () => element,
    estimateSize: () => options.size,
    overscan: 3,
    horizontal: options.horizontal ?? false,
    paddingStart: options.before ?? 0,
    scrollPaddingStart: options.before ?? 0,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: options.change,
  });
  const unmount = virtualizer._didMount();
  virtualizer._willUpdate();
  return { virtualizer, close: unmount };
}

/** The half-open range of items in view, a few more at either end. */
export function range(virtualizer: Virtualizer<HTMLElement, HTMLElement>): [number, number] {
  const items = virtualizer.getVirtualItems();
  const [first, last] = [items[0], items[items.length - 1]];
  return first === undefined || last === undefined ? [0, 0] : [first.index, last.index + 1];
}
