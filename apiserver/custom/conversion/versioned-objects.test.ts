import { describe, expect, it } from 'vitest';
import { encodeMessage } from '../../../api/codec/message.ts';
import { openMessage, storedVersionOf } from '../../../api/codec/open-message.ts';
import type { ApiObject, Kind } from '../../../api/kinds/kind.ts';
import type { Entry } from '../../watch/entry.ts';
import type { Convertible } from './conversion-review.ts';
import { VersionedObjects } from './versioned-objects.ts';

const [v1, v2] = ['v1', 'v2'].map((version) => ({ apiVersion: `a.example.com/${version}`, kind: 'A' }) as Kind) as [Kind, Kind];

/** Notes the version beside each object; `end` lets the calls go on. */
function converter() {
  const calls: (readonly Convertible[])[] = [];
  let fails = false;
  return {
    calls,
    fail: (now: boolean) => {
      fails = now;
    },
    async convert(
      objects: readonly Convertible[],
      { apiVersion: desired }: { apiVersion: string },
    ): Promise<readonly ApiObject[]> {
      calls.push(objects);
      if (fails) throw new Error('no');
      return objects.map(({ object }) => ({ ...object, was: desired }) as ApiObject);
    },
  };
}

const objects = (convert?: ReturnType<typeof converter>) =>
  new VersionedObjects({ group: 'a.example.com', storage: 'v2', unmarked: 'v1', converter: convert, kindOf: () => undefined });
const bytesOf = (more: object = {}): Buffer => encodeMessage(openMessage, { metadata: { name: 'a' }, ...more });
const entry = (bytes: Buffer, revision = 1): Entry => ({ key: `as.a.example.com/default/a${revision}`, bytes, revision });

describe('objects of several versions', () => {
  it('say the version that they are stored in, and old ones are of the first', async () => {
    const of = objects();
    const stored = await of.stored(bytesOf(), v1);
    expect(storedVersionOf(stored)).toBe('v2');
    expect([of.isStale(bytesOf()), of.isStale(stored)]).toEqual([true, false]);
    expect(of.mayWait).toBe(false);
    expect(of.known(entry(stored), v1)?.bytes).toBe(stored);
  });

  it('keep their version where the server itself writes them', async () => {
    const stored = await objects().stored(bytesOf(), v2);
    const { untouched } = objects(converter());
    expect(storedVersionOf(await untouched.stored(bytesOf(), v1, stored))).toBe('v2');
    expect(storedVersionOf(await untouched.stored(bytesOf(), v1, bytesOf()))).toBe('');
  });

  it('are converted once, for all readers at the same time and for later ones', async () => {
    const convert = converter();
    const of = objects(convert);
    const one = entry(bytesOf());
    const all = await Promise.all([of.shown([one], v2), of.shown([one], v2)]);
    expect(all[0]![0]).toBe(all[1]![0]);
    expect(of.known(one, v2)).toBe(all[0]![0]);
    expect((await of.shown([one], v2))[0]).toBe(all[0]![0]);
    expect(convert.calls).toHaveLength(1);
  });

  it('are sent in calls of 100, or of 256 KiB, in order', async () => {
    const convert = converter();
    const small = Array.from({ length: 130 }, (_, i) => entry(bytesOf({ i }), i));
    const shown = await objects(convert).shown(small, v2);
    expect(shown.map(({ revision }) => revision)).toEqual(small.map(({ revision }) => revision));
    const large = Array.from({ length: 3 }, (_, i) => entry(bytesOf({ text: 'x'.repeat(200_000) }), i));
    await objects(convert).shown(large, v2);
    expect(convert.calls.map((each) => each.length)).toEqual([100, 30, 1, 1, 1]);
  });

  it('that a webhook fails for are asked for again', async () => {
    const convert = converter();
    const of = objects(convert);
    const one = entry(bytesOf());
    convert.fail(true);
    await expect(Promise.all([of.shown([one], v2), of.shown([one], v2)])).rejects.toThrow('no');
    convert.fail(false);
    expect(await of.shown([one], v2)).toHaveLength(1);
    expect(convert.calls).toHaveLength(2);
  });

  it('are kept up to a bound', async () => {
    const convert = converter();
    const of = objects(convert);
    const first = entry(bytesOf({ text: 'x'.repeat(1_000_000) }), 0);
    await of.shown([first], v2);
    for (let i = 1; i <= 8; i++) await of.shown([entry(bytesOf({ text: 'x'.repeat(1_000_000) }), i)], v2);
    expect(of.known(first, v2)).toBeUndefined();
    expect(of.known(entry(await of.stored(bytesOf(), v2)), v2)).toBeDefined();
  });
});
