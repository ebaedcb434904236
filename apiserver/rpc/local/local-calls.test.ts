import { once } from 'node:events';
import {
  status as codes,
  type handleUnaryCall,
  Metadata,
  type ServerDuplexStream,
  type ServerWritableStream,
  type ServiceError,
} from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { resetUnread } from '../caller.ts';
import { MAX_RECEIVE_BYTES, MAX_SEND_BYTES } from '../grpc-server.ts';
import { LocalCalls } from './local-calls.ts';

const asIs = (bytes: Buffer): Buffer => bytes;
const caller = { identity: { user: 'anna', groups: [] }, userAgent: 'test/1' };

/** A channel to one method, "/s/M". */
function serve(handler: unknown) {
  const calls = new LocalCalls();
  const method = {
    path: '/s/M',
    requestStream: true,
    responseStream: true,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
  calls.add({ M: method }, { M: handler as never });
  return { calls, channel: calls.channel(caller) };
}

type Channel = ReturnType<LocalCalls['channel']>;

/** The answer of a unary call, or its error; what it was told besides. */
function ask(channel: Channel, request = Buffer.from('ask'), options = {}, path = '/s/M') {
  const told: unknown[] = [];
  const answer = new Promise<Buffer | ServiceError>((resolve) => {
    const call = channel.makeUnaryRequest(path, asIs, asIs, request, new Metadata(), options, (error, bytes) =>
      resolve(error ?? bytes!),
    );
    call.on('metadata', (metadata: Metadata) => told.push(metadata.getMap()));
  });
  return { answer, told };
}

const watch = (channel: Channel, options = {}) =>
  channel.makeServerStreamRequest('/s/M', asIs, asIs, Buffer.from('ask'), new Metadata(), options);

type Written = ServerWritableStream<Buffer, Buffer>;

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => void vi.useRealTimers());

it("answers in a later turn, with bytes of the client's own, after its metadata", async () => {
  const kept = Buffer.from('kept');
  let began = false;
  const handler: handleUnaryCall<Buffer, Buffer> = (call, callback) => {
    began = true;
    const metadata = new Metadata();
    metadata.set('note', `${call.getPath()} ${call.request}`);
    call.sendMetadata(metadata);
    callback(null, kept);
  };
  const { channel } = serve(handler);
  const { answer, told } = ask(channel);
  expect(began).toBe(false);
  const bytes = (await answer) as Buffer;
  expect(bytes.toString()).toBe('kept');
  bytes[0] = 0;
  expect(kept.toString()).toBe('kept');
  expect(told).toEqual([{ note: '/s/M ask' }]);
});

it('gives the status of a refusal with its details', async () => {
  const metadata = new Metadata();
  metadata.set('grpc-status-details-bin', Buffer.from('why'));
  const { channel } = serve((_call: unknown, callback: (error: unknown) => void) =>
    callback({ code: codes.NOT_FOUND, details: 'gone', metadata }),
  );
  const error = (await ask(channel).answer) as ServiceError;
  expect(error).toMatchObject({ code: codes.NOT_FOUND, details: 'gone' });
  expect(error.metadata.get('grpc-status-details-bin')).toEqual([Buffer.from('why')]);
});

it('refuses unknown methods, and messages that are too large, in both directions', async () => {
  const handler = vi.fn((_call, callback) => callback(null, Buffer.alloc(MAX_SEND_BYTES + 1)));
  const { channel } = serve(handler);
  expect(await ask(channel, undefined, {}, '/s/N').answer).toMatchObject({ code: codes.UNIMPLEMENTED });
  expect(await ask(channel, Buffer.alloc(MAX_RECEIVE_BYTES + 1)).answer).toMatchObject({ code: codes.RESOURCE_EXHAUSTED });
  expect(handler).not.toHaveBeenCalled();
  expect(await ask(channel).answer).toMatchObject({ code: codes.RESOURCE_EXHAUSTED });
});

it('ends a call at its deadline, and its handler hears that the client is gone', async () => {
  const cancelled = vi.fn();
  const { channel } = serve((call: Written) => call.on('cancelled', cancelled));
  const { answer } = ask(channel, undefined, { deadline: Date.now() + 50 });
  await new Promise((resolve) => setImmediate(resolve));
  vi.advanceTimersByTime(49);
  expect(cancelled).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(await answer).toMatchObject({ code: codes.DEADLINE_EXCEEDED });
  expect(cancelled).toHaveBeenCalledOnce();
});

it('does not begin a call that was cancelled before its turn', async () => {
  const handler = vi.fn();
  const { channel } = serve(handler);
  const stream = watch(channel);
  const failed = once(stream, 'error');
  stream.cancel();
  expect(await failed).toMatchObject([{ code: codes.CANCELLED }]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(handler).not.toHaveBeenCalled();
});

it('takes no more of a watch than its client reads, and tells the status after the last message', async () => {
  let taken = 0;
  const { channel } = serve((call: Written) => {
    for (let i = 0; i < 10; i++) call.write(Buffer.from([i]), () => taken++);
    call.emit('error', { code: codes.ABORTED, details: 'over', metadata: new Metadata() });
  });
  const stream = watch(channel);
  const read: number[] = [];
  const statuses: number[] = [];
  stream.on('error', (error: ServiceError) => statuses.push(error.code, read.length));
  const messages = stream[Symbol.asyncIterator]();
  for (let i = 0; i < 10; i++) {
    const { value } = await messages.next();
    read.push((value as Buffer)[0]!);
    await new Promise((resolve) => setImmediate(resolve));
    expect(taken).toBeLessThanOrEqual(read.length + 1);
  }
  await expect(messages.next()).rejects.toMatchObject({ code: codes.ABORTED });
  expect(read).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(statuses).toEqual([codes.ABORTED, 10]);
});

it('gives others their turn while a client reads a long watch as fast as it can', async () => {
  const { channel } = serve((call: Written) => {
    for (let i = 0; i < 50; i++) call.write(Buffer.from([i]));
    call.end();
  });
  let [turns, isOver] = [0, false];
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  let read = 0;
  for await (const _ of watch(channel)) read++;
  isOver = true;
  expect(read).toBe(50);
  expect(turns).toBeGreaterThanOrEqual(49);
});

it('breaks a watch off whose client reads nothing, with the error that its handler gave', async () => {
  const { channel } = serve((call: Written) => {
    for (let i = 0; i < 5; i++) call.write(Buffer.from([i]));
    resetUnread(call);
    call.emit('error', { code: codes.RESOURCE_EXHAUSTED, details: 'not read', metadata: new Metadata() });
  });
  const stream = watch(channel);
  const failed = once(stream, 'error');
  await new Promise((resolve) => setImmediate(resolve));
  vi.advanceTimersByTime(1_000);
  expect(await failed).toMatchObject([{ code: codes.RESOURCE_EXHAUSTED, details: 'not read' }]);
});

it('carries messages both ways, and the end of each side', async () => {
  const { channel } = serve(async (call: ServerDuplexStream<Buffer, Buffer>) => {
    for await (const message of call.iterator({ destroyOnReturn: false }))
      call.write(Buffer.concat([Buffer.from('re: '), message as Buffer]));
    call.end();
  });
  const stream = channel.makeBidiStreamRequest('/s/M', asIs, asIs, new Metadata(), {});
  const accepted = once(stream, 'metadata');
  const ended = once(stream, 'status');
  for (const text of ['a', 'b', 'c']) stream.write(Buffer.from(text));
  stream.end();
  const answers: string[] = [];
  for await (const message of stream) answers.push(String(message));
  expect(answers).toEqual(['re: a', 're: b', 're: c']);
  await accepted;
  expect(await ended).toMatchObject([{ code: codes.OK }]);
});

it('draining refuses new calls, lets running ones end, and cuts those that do not', async () => {
  const callbacks: ((error: null, bytes: Buffer) => void)[] = [];
  const { calls, channel } = serve((_call: unknown, callback: (error: null, bytes: Buffer) => void) => callbacks.push(callback));
  const ends = ask(channel).answer;
  const hangs = ask(channel).answer;
  await new Promise((resolve) => setImmediate(resolve));
  const drained = calls.drain(100);
  expect(await ask(channel).answer).toMatchObject({ code: codes.UNAVAILABLE });
  callbacks[0]!(null, Buffer.from('late'));
  expect(String(await ends)).toBe('late');
  vi.advanceTimersByTime(100);
  expect(await hangs).toMatchObject({ code: codes.UNAVAILABLE });
  await drained;
});

it('begins many calls in turns, between which others have theirs', async () => {
  const began: number[] = [];
  let turn = 0;
  const { channel } = serve((_call: unknown, callback: (error: null, bytes: Buffer) => void) => {
    began.push(turn);
    callback(null, Buffer.alloc(0));
  });
  const all = Array.from({ length: 100 }, () => ask(channel).answer);
  const count = (): void => {
    turn++;
    if (began.length < 100) setImmediate(count);
  };
  setImmediate(count);
  await Promise.all(all);
  for (const each of new Set(began)) expect(began.filter((at) => at === each).length).toBeLessThanOrEqual(32);
});
