import { isPermissionDenied } from '../../api/errors/index.ts';
import type { ResourceQuota } from '../../api/generated/types.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { compareQuantity, subtractQuantity } from '../../api/meta/quantity.ts';
import type { Informer } from '../../client/index.ts';
import type { Source, Wake } from '../controller.ts';

/**
 * Owners whose objects the API server refuses to create, as a quota does. They are tried again with back-off, up to
 * five minutes; as a source of their controller this wakes them as soon as a quota of their namespace gives room.
 */
export class RefusedCreates implements Source {
  readonly #quotas: Pick<Informer<ResourceQuota>, 'addHandler' | 'waitForSync'>;
  /** Keys by their namespaces. */
  readonly #refused = new Map<string, Set<string>>();
  #wake: Wake = () => {};
  #rooms = 0;

  constructor(quotas: Pick<Informer<ResourceQuota>, 'addHandler' | 'waitForSync'>) {
    this.#quotas = quotas;
  }

  /** How often any quota has given room so far: to be asked before creates are made. */
  get rooms(): number {
    return this.#rooms;
  }

  /**
   * What became of the creates of a key; without an error none was refused. A key that was refused while a quota gave
   * room is woken at once: nothing tells which came first.
   */
  note(key: string, error?: unknown, roomsBefore = this.#rooms): void {
    const namespace = key.slice(0, key.indexOf('/'));
    const keys = this.#refused.get(namespace);
    if (isPermissionDenied(error)) {
      if (keys) keys.add(key);
      else this.#refused.set(namespace, new Set([key]));
      if (this.#rooms !== roomsBefore) this.#wake(key);
    } else if (keys?.delete(key) && keys.size === 0) this.#refused.delete(namespace);
  }

  waitForSync(signal: AbortSignal): Promise<void> {
    return this.#quotas.waitForSync(signal);
  }

  connect(wake: Wake): () => void {
    this.#wake = wake;
    const tell = ({ metadata }: ResourceQuota): void => {
      this.#rooms++;
      for (const key of this.#refused.get(metadata?.namespace ?? '') ?? []) wake(key);
    };
    return this.#quotas.addHandler({
      name: 'refused creates',
      onUpdate: (next, old) => {
        if (givesRoom(next, old)) tell(next);
      },
      onDelete: tell,
    });
  }
}

/** Whether a quota has room for more of something than it had, or may have. */
export function givesRoom(next: ResourceQuota, old: ResourceQuota): boolean {
  const scopes = ({ spec }: ResourceQuota) => [spec?.scopes, spec?.scopeSelector];
  if (!equalValues(scopes(next), scopes(old))) return true;
  return Object.keys(old.spec?.hard ?? {}).some((name) => {
    if (next.spec?.hard?.[name] === undefined) return true;
    return compareQuantity(roomOf(next, name), roomOf(old, name)) > 0;
  });
}

const roomOf = ({ spec, status }: ResourceQuota, name: string) => subtractQuantity(spec?.hard?.[name], status?.used?.[name]);
