import { Duplex } from 'node:stream';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { encodeMessage } from '../../api/codec/message.ts';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { fakeCall } from '../../test/fakes/fake-call-context.ts';
import { CallMeters } from '../calls/call-meter.ts';
import { defaultClientLimits, LimitKeeper } from '../limits/client-limits.ts';
import type { CallPipeline, DuplexHandler } from './call-pipeline.ts';
import { defaultItemStreamLimits, ItemStreams, type ReadItem } from './item-stream.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => void vi.useRealTimers());

/** Serves streams of items for one user, without a network. */
function harness(read: ReadItem, { clientRate = 0, clientBurst = 0, streams = 256 } = {}) {
  let handler: DuplexHandler = () => Promise.reject(new Error('not set'));
  const pipeline = {
    duplex: (given: DuplexHandler) => {
      handler = given;
    },
  } as unknown as CallPipeline;
  const metrics = new MetricsRegistry();
  const clients = new LimitKeeper({ ...defaultClientLimits, clientRate, clientBurst }, { metrics, now: Date.now });
  const limits = { ...defaultItemStreamLimits, streams };
  new ItemStreams({ pipeline, limits, clients, meters: new CallMeters(metrics) }).method('/berth.meta.v1.Objects/Bulk', read);
  return function open(count: number) {
    const stop = new AbortController();
    const duplex = new Duplex({ objectMode: true, read() {}, write: (_chunk, _encoding, done) => done() });
    const call = Object.assign(duplex, { cancelled: false });
    const context = fakeCall({ identity: { user: 'u', groups: [] }, signal: stop.signal });
    const served = handler(call as unknown as ServerDuplexStream<Buffer, Buffer>, context);
    const items = Array.from({ length: count }, (_, id) => ({ id, create: { kind: { kind: 'ConfigMap' } } }));
    call.push(encodeMessage('berth.meta.v1.BulkRequest', { items }));
    call.push(null);
    const cancel = (): void => {
      call.cancelled = true;
      call.emit('cancelled');
    };
    return { served, cancel, stop: () => stop.abort() };
  };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const done = { bytes: new Uint8Array(0) };

test('items beyond the rate of their client wait for their turn, and none is refused', async () => {
  let begun = 0;
  const run = async () => {
    begun++;
    return done;
  };
  const open = harness(() => ({ own: undefined, waitsFor: [], run }), { clientRate: 10, clientBurst: 3 });
  const { served } = open(5);
  await vi.waitFor(() => expect(begun).toBe(3), { timeout: 30_000 });
  for (const expected of [4, 5]) {
    await settle();
    expect(begun).toBe(expected - 1);
    await vi.advanceTimersByTimeAsync(100);
    expect(begun).toBe(expected);
  }
  await served;
});

test('a stream that ends while items wait for their turn ends at once, and begins no more', async () => {
  let begun = 0;
  const run = async () => {
    begun++;
    return done;
  };
  const open = harness(() => ({ own: undefined, waitsFor: [], run }), { clientRate: 1, clientBurst: 1 });
  const { served, stop } = open(3);
  await vi.waitFor(() => expect(begun).toBe(1), { timeout: 30_000 });
  stop();
  await expect(served).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(begun).toBe(1);
});

test('a stream that was cancelled keeps its place until all its items have ended', async () => {
  const running: (() => void)[] = [];
  const run = () => new Promise<typeof done>((resolve) => running.push(() => resolve(done)));
  const open = harness(() => ({ own: undefined, waitsFor: [], run }), { streams: 2 });
  const streams = [open(2), open(1)];
  await vi.waitFor(() => expect(running).toHaveLength(3), { timeout: 30_000 });
  for (const { cancel } of streams) cancel();
  await Promise.all(streams.map(({ served }) => served));
  const refusal = { code: 'RESOURCE_EXHAUSTED', message: expect.stringContaining('streams of writes') };
  await expect(open(1).served).rejects.toMatchObject(refusal);
  running[0]!();
  await settle();
  await expect(open(1).served).rejects.toMatchObject(refusal);
  running[1]!();
  await settle();
  const next = open(1);
  await vi.waitFor(() => expect(running).toHaveLength(4), { timeout: 30_000 });
  for (const end of running) end();
  await next.served;
});
