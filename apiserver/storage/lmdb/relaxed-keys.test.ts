import { describe, expect, it } from 'vitest';
import { encodeRecord } from '../record.ts';
import { RestingEvent } from '../resting-event.ts';
import type { StorageEvent } from '../storage.ts';
import { RelaxedKeys } from './relaxed-keys.ts';

const key = 'events/default/pod.1';
/** Every value that a byte has. */
const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);

function written(revision: number): { event: StorageEvent; record: Buffer } {
  const about = { key, kind: 'Event', verb: 'create', user: 'u', manager: 'm', previous: 0, time: 1 };
  const record = encodeRecord({ type: 'put', durability: 'relaxed', revision, bytes, ...about });
  const event = { type: 'put', durability: 'relaxed', key, revision, bytes: record.subarray(-bytes.length) } as const;
  return { event, record };
}

describe('relaxed keys', () => {
  it('keep the bytes of a state, but not its record, when it is on disk', () => {
    const relaxed = new RelaxedKeys();
    const { event, record } = written(7);
    relaxed.apply(event, record, false);
    expect(relaxed.get(key)?.bytes.buffer).toBe(record.buffer);
    relaxed.written(relaxed.takeDirty());
    const kept = relaxed.get(key)!;
    expect({ ...kept, bytes: [...kept.bytes] }).toMatchObject({ key, revision: 7, type: 'put', bytes: [...bytes] });
    record.fill(0);
    expect([...kept.bytes]).toEqual([...bytes]);
    expect(relaxed.list('events/', 'events/')).toEqual([kept]);
    expect(relaxed.since('', 6, 7)).toEqual([kept]);
  });

  it('keep the event itself that was published, so that others who hold it hold no second copy', () => {
    const relaxed = new RelaxedKeys();
    const { event, record } = written(7);
    const published = new RestingEvent({ ...event, memo: {} });
    relaxed.apply(published, record, false);
    relaxed.written(relaxed.takeDirty());
    expect(relaxed.get(key)).toBe(published);
    record.fill(0);
    expect([[...published.bytes], published.memo]).toEqual([[...bytes], undefined]);
  });

  it('keep the bytes of a state that was read from the disk, but not what was read', () => {
    const relaxed = new RelaxedKeys();
    const { event, record } = written(7);
    relaxed.load(event, record.length);
    record.fill(0);
    expect([...relaxed.get(key)!.bytes]).toEqual([...bytes]);
  });

  it('show the newest state when an older one is written', () => {
    const relaxed = new RelaxedKeys();
    const old = written(7);
    relaxed.apply(old.event, old.record, false);
    const changes = relaxed.takeDirty();
    const next = written(8);
    relaxed.apply(next.event, next.record, false);
    relaxed.written(changes);
    expect(relaxed.get(key)?.revision).toBe(8);
    expect([...relaxed.takeDirty().values()]).toEqual([next.record]);
  });
});
