import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runController } from '../../examples/controller.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

let server: RunningServer;
let running: Promise<void>;
const stop = new AbortController();

beforeAll(async () => {
  server = await startServer();
  await server.client.namespaces.create(namespace('before', 'ann'));
  running = runController(server.client, stop.signal);
});
afterAll(async () => {
  stop.abort();
  await running;
  await server.stop();
  await server.remove();
});

const namespace = (name: string, contact?: string) => ({
  metadata: { name, ...(contact !== undefined && { annotations: { 'example.com/contact': contact } }) },
});

const contactIn = async (name: string): Promise<string | undefined> =>
  (await server.client.configMaps.list({ namespace: name })).items.find((map) => map.metadata?.name === 'team')?.data?.contact;

/** Polls until the namespace's team map says this. */
const expectContact = (name: string) => expect.poll(() => contactIn(name), { timeout: 10_000 });

describe('the example controller', () => {
  it('gives a namespace that was there before it the contact', async () => {
    await expectContact('before').toBe('ann');
  });

  it('gives a new namespace the contact, and one without contact nothing', async () => {
    await server.client.namespaces.create(namespace('silent'));
    await server.client.namespaces.create(namespace('after', 'bob'));
    await expectContact('after').toBe('bob');
    expect(await contactIn('silent')).toBeUndefined();
  });

  it('follows a change of the contact', async () => {
    await server.client.namespaces.create(namespace('changing', 'ann'));
    await expectContact('changing').toBe('ann');
    await server.client.namespaces.patch({ name: 'changing' }, { metadata: { annotations: { 'example.com/contact': 'cyd' } } });
    await expectContact('changing').toBe('cyd');
  });

  it('mends what others change or delete', async () => {
    await server.client.namespaces.create(namespace('meddled', 'ann'));
    await expectContact('meddled').toBe('ann');
    const team = { namespace: 'meddled', name: 'team' };
    await server.client.configMaps.patch(team, { data: { contact: 'eve' } });
    await expectContact('meddled').toBe('ann');
    await server.client.configMaps.delete(team);
    await expectContact('meddled').toBe('ann');
  });
});
