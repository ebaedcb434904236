/** A binary heap of distinct items that can also take out an item in its middle. */
export interface Heap<T> {
  readonly size: number;
  push(item: T): void;
  peek(): T | undefined;
  pop(): T | undefined;
  /** False when the item is not in the heap. */
  remove(item: T): boolean;
}

/** `compare` is negative when `a` comes out before `b`. What it looks at must not change while an item is inside. */
export function createHeap<T>(compare: (a: T, b: T) => number): Heap<T> {
  const items: T[] = [];
  const places = new Map<T, number>();

  function put(item: T, at: number): void {
    items[at] = item;
    places.set(item, at);
  }

  function rise(from: number): void {
    const item = items[from]!;
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (compare(item, items[parent]!) >= 0) break;
      put(items[parent]!, at);
      at = parent;
    }
    put(item, at);
  }

  function sink(from: number): void {
    const item = items[from]!;
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && compare(items[child + 1]!, items[child]!) < 0) child += 1;
      if (compare(items[child]!, item) >= 0) break;
      put(items[child]!, at);
      at = child;
    }
    put(item, at);
  }

  function remove(item: T): boolean {
    const at = places.get(item);
    if (at === undefined) return false;
    places.delete(item);
    const last = items.pop()!;
    if (at === items.length) return true;
    put(last, at);
    rise(at);
    sink(places.get(last)!);
    return true;
  }

  return {
    get size() {
      return items.length;
    },
    push(item) {
      items.push(item);
      rise(items.length - 1);
    },
    peek: () => items[0],
    pop() {
      const first = items[0];
      if (first !== undefined) remove(first);
      return first;
    },
    remove,
  };
}
