import { equalValues } from '../../api/meta/equal.ts';

/** What slices of a kind hold, and how much one may. */
export interface Packing<S, I> {
  itemsOf(slice: S): readonly I[];
  /** The same as the key of the item in `wanted`. */
  idOf(item: I): string;
  /** How many items a slice may have. */
  readonly mostItems: number;
  /** What an item weighs, and how much a slice may hold; a heavier item has a slice to itself. Absent: no bound. */
  readonly weight?: { of(item: I): number; readonly most: number };
}

export interface Packed<S, I> {
  /** Slices with what they are to hold, which may be what they hold already, or nothing. */
  readonly kept: readonly { readonly slice: S; readonly items: readonly I[] }[];
  /** The content of new slices. */
  readonly fresh: readonly (readonly I[])[];
}

/**
 * Distributes items over slices so that few are written: an item stays in the slice where it is; what is new goes into
 * slices that are written anyway, then into the fullest one that has room for all of it, then into new ones. Pure.
 */
export function packSlices<S, I>(slices: readonly S[], wanted: ReadonlyMap<string, I>, packing: Packing<S, I>): Packed<S, I> {
  const missing = new Map(wanted);
  const pages = slices.map((slice) => {
    const before = packing.itemsOf(slice);
    const page = new Page(packing);
    let isChanged = false;
    for (const item of before) {
      const id = packing.idOf(item);
      const next = missing.get(id);
      // Of one that stands twice the second goes, too.
      if (next === undefined || !page.hasRoomFor([next])) {
        isChanged = true;
        continue;
      }
      missing.delete(id);
      page.add(next);
      isChanged ||= !equalValues(next, item);
    }
    return { slice, page, isChanged };
  });
  const added = [...missing.values()];
  for (const { page, isChanged } of pages) if (isChanged) page.fill(added);
  if (added.length > 0) {
    const roomy = pages.filter(({ page }) => page.hasRoomFor(added));
    const [fullest] = roomy.toSorted((a, b) => b.page.items.length - a.page.items.length);
    fullest?.page.fill(added);
  }
  const fresh: (readonly I[])[] = [];
  while (added.length > 0) {
    const page = new Page(packing);
    page.fill(added);
    fresh.push(page.items);
  }
  return { kept: pages.map(({ slice, page }) => ({ slice, items: page.items })), fresh };
}

/** What one slice is to hold. */
class Page<I> {
  readonly items: I[] = [];
  readonly #packing: Pick<Packing<unknown, I>, 'mostItems' | 'weight'>;
  #weight = 0;

  constructor(packing: Pick<Packing<unknown, I>, 'mostItems' | 'weight'>) {
    this.#packing = packing;
  }

  hasRoomFor(items: readonly I[]): boolean {
    const { mostItems, weight } = this.#packing;
    if (this.items.length + items.length > mostItems) return false;
    if (!weight || this.items.length + items.length === 1) return true;
    return items.reduce((sum, item) => sum + weight.of(item), this.#weight) <= weight.most;
  }

  add(item: I): void {
    this.items.push(item);
    this.#weight += this.#packing.weight?.of(item) ?? 0;
  }

  /** Takes from the front as many as there is room for. */
  fill(added: I[]): void {
    let taken = 0;
    while (taken < added.length && this.hasRoomFor([added[taken]!])) this.add(added[taken++]!);
    added.splice(0, taken);
  }
}
