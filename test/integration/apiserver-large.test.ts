import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Event, Pod } from '../../api/generated/types.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

// Objects of 1.5 MiB through everything that carries objects.
let server: RunningServer;
beforeAll(async () => {
  server = await startServer({ backend: 'lmdb' });
});
afterAll(async () => {
  await server.stop();
  await server.remove();
});

const MiB = 1024 * 1024;
const at = (name: string) => ({ namespace: 'default', name });
const large = (name: string, bytes: number): Pod => ({
  metadata: at(name),
  spec: { containers: [{ name: 'a', image: 'i', env: [{ name: 'A', value: 'x'.repeat(bytes) }] }] },
});

test('an object of nearly 1.5 MiB is written, changed, listed, watched, and told of in its history and a backup', async () => {
  const { pods, objects, backups, bulkWriter } = server.client;
  const made = await pods.create(large('large', 1.49 * MiB));
  const changed = await pods.patch(at('large'), { metadata: { labels: { a: 'b' } } });
  expect(changed.spec).toEqual(made.spec);
  const writer = bulkWriter();
  await writer.resource('Pod').create(large('bulk', 1.49 * MiB));
  await writer.close();
  const page = await pods.list({ namespace: 'default' });
  expect([page.items.length, page.metadata.continue !== undefined]).toEqual([1, true]);
  for await (const [event] of pods.watch({ namespace: 'default', resourceVersion: made.metadata!.resourceVersion! }, {})) {
    expect(event?.object.metadata?.labels).toEqual({ a: 'b' });
    break;
  }
  const { revisions } = await objects.history('Pod', at('large'), { wholeValues: true });
  expect(revisions.map(({ type }) => type)).toEqual(['MODIFIED', 'ADDED']);
  let bytes = 0;
  for await (const { data } of backups.backup()) bytes += data?.length ?? 0;
  expect(bytes).toBeGreaterThan(2.9 * MiB);
});

test('an object beyond 1.5 MiB is refused, and so is a change that makes one', async () => {
  const { pods } = server.client;
  await expect(pods.create(large('larger', 1.5 * MiB))).rejects.toMatchObject({ message: expect.stringContaining('1572864') });
  await pods.create(large('grows', 1.49 * MiB));
  const annotations = { 'example.com/a': 'x'.repeat(200 * 1024) };
  await expect(pods.patch(at('grows'), { metadata: { annotations } })).rejects.toMatchObject({
    message: expect.stringContaining('1572864'),
  });
});

test('the largest object arrives in JSON too, where it has six times its size', async () => {
  const { events, objects } = server.client;
  const message = '\u0001'.repeat(1.49 * MiB);
  const event: Event = { metadata: at('told'), involvedObject: { kind: 'Pod', ...at('large') }, reason: 'Told', message };
  const made = await events.create(event);
  expect((await objects.get('Event', at('told'))).message).toBe(message);
  expect((await objects.list('Event', { namespace: 'default' })).items.map((each) => each.message === message)).toEqual([true]);
  const before = String(Number(made.metadata!.resourceVersion!) - 1);
  for await (const [change] of objects.watch('Event', { namespace: 'default', resourceVersion: before }, {})) {
    expect(change?.object?.message === message).toBe(true);
    break;
  }
});
