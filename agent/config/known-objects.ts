import { isNotFound } from '../../api/errors/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import { objectKey } from '../../api/meta/key.ts';
import { createLru } from '../../api/meta/lru.ts';
import type { Clock } from '../../client/clock.ts';
import type { ObjectKey, ResourceClient } from '../../client/services/resource-client.ts';

/**
 * Gets an object that is at most `maxAgeMs` old; undefined when it does not exist. While the server is away, what it
 * said last stands: containers that were started once can be started again. Throws ApiError when it is away and the
 * object is not known.
 */
export type KnownObjects<T> = (key: ObjectKey, maxAgeMs: number) => Promise<T | undefined>;

/** More than the objects of one kind that the pods of a node name; the least used go first. */
const capacity = 500;

interface Known<T> {
  readonly at: number;
  readonly object: Promise<T | undefined>;
}

export function createKnownObjects<T extends ApiObject>(client: Pick<ResourceClient<T>, 'get'>, clock: Clock): KnownObjects<T> {
  const known = createLru<Known<T>>(capacity);

  async function ask(key: ObjectKey, last: Known<T> | undefined): Promise<T | undefined> {
    try {
      return await client.get(key);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      const object = await last?.object;
      if (object === undefined) throw error;
      return object;
    }
  }

  return (key, maxAgeMs) => {
    const text = objectKey({ metadata: key });
    const last = known.get(text);
    // A clock that is set back makes nothing young again.
    if (last !== undefined && Math.abs(clock.now() - last.at) < maxAgeMs) return last.object;
    const entry = { at: clock.now(), object: ask(key, last) };
    known.set(text, entry);
    // Neither a failure nor an absence is kept: the user is about to mend it.
    const expire = () => void (known.get(text) === entry && known.set(text, { ...entry, at: Number.NEGATIVE_INFINITY }));
    entry.object.then((found) => found === undefined && expire(), expire);
    return entry.object;
  };
}
