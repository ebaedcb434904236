import { exhausted } from '../../api/errors/index.ts';
import type { ListOptions } from '../../api/generated/types.ts';
import type { Flow } from './levels.ts';

/** What the selectors of a flow's open watches may take together, as text; parsed they take some four times as much. */
const mostBytes = 4 * 1024 * 1024;
const retryAfterMs = 1_000;

/** Bounds the memory that each flow's selectors take for as long as its watches are open. */
export class SelectorRoom {
  readonly #held = new Map<string, number>();

  /**
   * Counts a watch's selectors until the returned function is called. Throws RESOURCE_EXHAUSTED when the flow has no
   * room.
   */
  hold({ key, name, isExempt }: Flow, { labelSelector = '', fieldSelector = '' }: ListOptions): () => void {
    const bytes = labelSelector.length + fieldSelector.length;
    if (bytes === 0) return () => {};
    const held = this.#held.get(key) ?? 0;
    if (held + bytes > mostBytes && !isExempt)
      throw exhausted(
        `${name} has watches with selectors of ${held} bytes together, and may have ${mostBytes}: close some, or watch with shorter ones`,
        retryAfterMs,
      );
    this.#held.set(key, held + bytes);
    return () => {
      const left = (this.#held.get(key) ?? 0) - bytes;
      if (left > 0) this.#held.set(key, left);
      else this.#held.delete(key);
    };
  }
}
