import { describe, expect, it } from 'vitest';
import { notFound, unavailable } from '../../api/errors/index.ts';
import type { Event } from '../../api/generated/types.ts';
import { pod } from '../../test/builders/index.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { createEventRecorder, type EventRecorder, type EventRecorderOptions } from './events.ts';
import { referenceTo } from './reference.ts';

function setup(options: Partial<EventRecorderOptions> = {}) {
  const clock = createFakeClock();
  const logger = createFakeLogger();
  const client = createFakeResourceClient<Event>({ kind: 'Event' });
  let names = 0;
  const recorder = createEventRecorder({
    client,
    component: 'scheduler',
    clock,
    logger,
    random: () => (names++ % 1000) / 1000,
    ...options,
  });
  return { clock, logger, client, recorder };
}

const about = (name: string) => referenceTo('Pod', pod(name).build());
const seconds = Date.UTC(2026, 0, 1) / 1000;

describe('event recorder', () => {
  it('writes an Event that names the object, the reason and the component', async () => {
    const { client, recorder } = setup({ host: 'n1' });
    recorder.event(about('web'), 'Normal', 'Scheduled', 'assigned to n1');
    await recorder.flush();
    const [event] = client.objects();
    expect(event).toMatchObject({
      metadata: { namespace: 'default' },
      involvedObject: { kind: 'Pod', apiVersion: 'v1', namespace: 'default', name: 'web', uid: 'uid-web' },
      type: 'Normal',
      reason: 'Scheduled',
      message: 'assigned to n1',
      count: 1,
      firstTimestamp: { seconds },
      lastTimestamp: { seconds },
      source: { component: 'scheduler', host: 'n1' },
    });
    expect(event?.metadata?.name).toMatch(/^web\./);
  });

  it('dates what it is told late with the time it happened at, and puts it before what came after', async () => {
    const { clock, client, recorder } = setup();
    const bindingAt = clock.now();
    await clock.advance(5_000);
    recorder.event(about('web'), 'Normal', 'Pulled', 'image is here', bindingAt + 1);
    recorder.event(about('web'), 'Normal', 'Scheduled', 'assigned to n1', bindingAt);
    await recorder.flush();
    const byName = client.objects().toSorted((a, b) => ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1));
    expect(byName.map(({ reason }) => reason)).toEqual(['Scheduled', 'Pulled']);
    expect(byName[0]).toMatchObject({ firstTimestamp: { seconds }, lastTimestamp: { seconds } });
  });

  it('names Events of the same millisecond so that they stay in the order they were recorded in', async () => {
    let falling = 10;
    const client = createFakeResourceClient<Event>({ kind: 'Event' });
    const options = { client, component: 'agent', clock: createFakeClock(), logger: createFakeLogger() };
    const recorder = createEventRecorder({ ...options, random: () => falling-- / 16 });
    for (const reason of ['Pulled', 'Created', 'Started']) recorder.event(about('web'), 'Normal', reason, reason);
    await recorder.flush();
    const byName = client.objects().toSorted((a, b) => ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1));
    expect(byName.map(({ reason }) => reason)).toEqual(['Pulled', 'Created', 'Started']);
  });

  it('writes what waits together, sixteen at once, and a message that comes again meanwhile after its first time', async () => {
    const { client } = setup();
    const underWay: (() => void)[] = [];
    const create: typeof client.create = async (...args) => {
      await new Promise<void>((resolve) => underWay.push(resolve));
      return client.create(...args);
    };
    const recorder = createEventRecorder({ client: { ...client, create }, component: 'agent', clock: createFakeClock() });
    for (let i = 0; i < 20; i++) recorder.event(about(`web-${i}`), 'Normal', 'Pulled', 'image is here');
    await expect.poll(() => underWay).toHaveLength(16);
    recorder.event(about('web-0'), 'Normal', 'Pulled', 'image is here');
    for (const go of underWay.splice(0)) go();
    await expect.poll(() => underWay).toHaveLength(4);
    for (const go of underWay) go();
    await recorder.flush();
    expect(client.objects()).toHaveLength(20);
    expect(client.objects().find(({ involvedObject }) => involvedObject?.name === 'web-0')?.count).toBe(2);
  });

  it('lets what is recorded wait for more; a warning or a flush writes at once', async () => {
    const { clock, client, recorder } = setup({ gatherMs: 100 });
    recorder.event(about('web'), 'Normal', 'Pulled', 'is there');
    await clock.advance(99);
    recorder.event(about('web'), 'Normal', 'Created', 'made');
    expect(client.objects()).toEqual([]);
    await clock.advance(1);
    expect(client.objects().map(({ reason }) => reason)).toEqual(['Pulled', 'Created']);
    recorder.event(about('web'), 'Normal', 'Started', 'runs');
    await recorder.flush();
    expect(client.objects()).toHaveLength(3);
    recorder.event(about('web'), 'Normal', 'Killing', 'stops');
    await clock.advance(1);
    recorder.event(about('web'), 'Warning', 'Failed', 'fails');
    await clock.advance(0);
    expect(client.objects()).toHaveLength(5);
    recorder.event(about('web'), 'Warning', 'BackOff', 'waits');
    await clock.advance(0);
    expect(client.objects()).toHaveLength(6);
  });

  it('counts the same message on the Event it made before', async () => {
    const { clock, client, recorder } = setup();
    for (let time = 0; time < 3; time++) {
      recorder.event(about('web'), 'Warning', 'FailedScheduling', '0/1 nodes are available');
      await recorder.flush();
      await clock.advance(10_000);
    }
    expect(client.callLog().map((line) => line.split(' ')[0])).toEqual(['create', 'patch', 'patch']);
    expect(client.objects()).toHaveLength(1);
    expect(client.objects()[0]).toMatchObject({
      count: 3,
      firstTimestamp: { seconds },
      lastTimestamp: { seconds: seconds + 20 },
    });
  });

  it('counts what is recorded while nothing could be written with a single call', async () => {
    const { client, recorder } = setup();
    for (let time = 0; time < 50; time++) recorder.event(about('web'), 'Normal', 'Pulling', 'image');
    await recorder.flush();
    expect(client.callLog()).toHaveLength(1);
    expect(client.objects()[0]?.count).toBe(50);
  });

  it.each<[string, () => Parameters<EventRecorder['event']>]>([
    ['another object', () => [about('db'), 'Normal', 'Pulling', 'image']],
    ['another reason', () => [about('web'), 'Normal', 'Pulled', 'image']],
    ['another message', () => [about('web'), 'Normal', 'Pulling', 'other']],
    ['another type', () => [about('web'), 'Warning', 'Pulling', 'image']],
  ])('makes an Event of its own for %s', async (_title, other) => {
    const { client, recorder } = setup();
    recorder.event(about('web'), 'Normal', 'Pulling', 'image');
    recorder.event(...other());
    await recorder.flush();
    expect(client.objects().map((event) => event.count)).toEqual([1, 1]);
  });

  it('makes a new Event, with the whole count, when the old one has expired', async () => {
    const { client, recorder } = setup();
    recorder.event(about('web'), 'Normal', 'Pulling', 'image');
    await recorder.flush();
    client.failNext('patch', notFound({ kind: 'Event', name: 'web' }));
    client.remove(`default/${client.objects()[0]?.metadata?.name}`);
    recorder.event(about('web'), 'Normal', 'Pulling', 'image');
    await recorder.flush();
    expect(client.objects()[0]?.count).toBe(2);
  });

  it('never throws into the caller: what cannot be written is logged, and counted next time', async () => {
    const { client, recorder, logger } = setup();
    client.failNext('create', unavailable('gone'));
    recorder.event(about('web'), 'Normal', 'Pulling', 'image');
    await recorder.flush();
    expect(logger.lines).toHaveLength(1);
    expect(logger.lines[0]).toMatchObject({ level: 'warn', fields: { name: 'web', reason: 'Pulling' } });
    recorder.event(about('web'), 'Normal', 'Pulling', 'image');
    await recorder.flush();
    expect(client.objects()[0]?.count).toBe(2);
  });

  it('holds an object that talks too much to its limit, and lets others through', async () => {
    const { clock, client, recorder } = setup();
    for (let time = 0; time < 100; time++) recorder.event(about('web'), 'Normal', 'Tick', `number ${time}`);
    recorder.event(about('db'), 'Normal', 'Tick', 'once');
    await recorder.flush();
    const of = (name: string) => client.objects().filter((event) => event.involvedObject?.name === name).length;
    expect([of('web'), of('db')]).toEqual([25, 1]);
    await clock.advance(300_000);
    for (let time = 0; time < 10; time++) recorder.event(about('web'), 'Normal', 'Tock', `number ${time}`);
    await recorder.flush();
    expect(of('web')).toBe(26);
  });

  it('drops what does not fit into its queue', async () => {
    const { client, recorder, logger } = setup({ queueSize: 3 });
    for (let index = 0; index < 10; index++) recorder.event(about(`pod-${index}`), 'Normal', 'Tick', 'message');
    await recorder.flush();
    expect(client.objects()).toHaveLength(3);
    expect(logger.lines).toEqual([
      { level: 'debug', fields: { component: 'scheduler', dropped: 7 }, message: expect.any(String) },
    ]);
  });

  it('forgets the message that was unused longest when its memory is full', async () => {
    const { client, recorder } = setup({ cacheSize: 2 });
    for (const name of ['a', 'b', 'c', 'a']) {
      recorder.event(about(name), 'Normal', 'Tick', 'message');
      await recorder.flush();
    }
    expect(client.objects().filter((event) => event.involvedObject?.name === 'a')).toHaveLength(2);
  });

  it('cuts a message to the length that the server takes', async () => {
    const { client, recorder } = setup();
    recorder.event(about('web'), 'Warning', 'Failed', 'x'.repeat(5_000));
    await recorder.flush();
    expect(client.objects()[0]?.message).toHaveLength(1_024);
  });
});
