/** When a key is looked at again whose writes the informers do not show: by then they usually do. */
export const unshownRetryMs = 20;

/** Tells up to which version it shows everything, as an informer does. */
export interface Showing {
  shows(resourceVersion: string): boolean;
}

/**
 * What a controller has written and its informers do not show yet, by key. A key is decided on only when its informers
 * show everything that was written for it before: so a decision never counts an object twice, or misses one, because a
 * cache is behind. Nothing expires: a write whose outcome is unknown is not noted but repeated (`PodWriter`).
 */
export class OwnWrites {
  readonly #awaited = new Map<string, Map<Showing, string>>();

  /** Waits, for this key, until the informer shows this version. */
  note(key: string, informer: Showing, resourceVersion: string | undefined): void {
    if (!resourceVersion || informer.shows(resourceVersion)) return;
    const versions = this.#awaited.get(key) ?? new Map<Showing, string>();
    const known = versions.get(informer);
    if (known === undefined || Number(resourceVersion) > Number(known)) versions.set(informer, resourceVersion);
    this.#awaited.set(key, versions);
  }

  /** Whether the informers show all that was written for the key. */
  areShown(key: string): boolean {
    const versions = this.#awaited.get(key);
    if (!versions) return true;
    for (const [informer, version] of versions) if (!informer.shows(version)) return false;
    this.#awaited.delete(key);
    return true;
  }

  /** For a key that is not decided on any more. */
  forget(key: string): void {
    this.#awaited.delete(key);
  }
}
