import { describe, expect, it } from 'vitest';
import { unavailable } from '../../api/errors/index.ts';
import type { ConfigMap } from '../../api/generated/types.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { createKnownObjects } from './known-objects.ts';

const key = { namespace: 'default', name: 'a' };
const settings = (text: string): ConfigMap => ({ metadata: key, data: { text } });

function setUp(...objects: ConfigMap[]) {
  const client = createFakeResourceClient<ConfigMap>({ kind: 'ConfigMap', objects });
  const clock = createFakeClock();
  const get = createKnownObjects(client, clock);
  const text = async (maxAgeMs: number) => (await get(key, maxAgeMs))?.data?.text;
  return { client, clock, text };
}

describe('an object that is known', () => {
  it('is asked for once by those who start together, and again when it is older than wanted', async () => {
    const { client, clock, text } = setUp(settings('1'));
    expect(await Promise.all([text(5_000), text(5_000)])).toEqual(['1', '1']);
    client.put(settings('2'));
    await clock.advance(4_999);
    expect(await text(5_000)).toBe('1');
    await clock.advance(1);
    expect(await text(5_000)).toBe('2');
    expect(client.callLog('get')).toHaveLength(2);
  });

  it('does not stay as it is for hours when the clock is set back', async () => {
    const { client, clock, text } = setUp(settings('1'));
    await text(5_000);
    client.put(settings('2'));
    clock.skew(-3_600_000);
    expect(await text(5_000)).toBe('2');
  });

  it('stands while the server is away', async () => {
    const { client, text } = setUp(settings('1'));
    await text(0);
    client.failNext('get', unavailable('away'));
    expect(await text(0)).toBe('1');
  });
});

it('a missing object is looked up each time, and no object counts as missing while the server is away', async () => {
  const { client, text } = setUp();
  expect(await text(5_000)).toBeUndefined();
  client.failNext('get', unavailable('away'));
  await expect(text(5_000)).rejects.toThrow('away');
  client.put(settings('1'));
  expect(await text(5_000)).toBe('1');
});
