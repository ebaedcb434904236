import { constants } from 'node:http2';
import type { ServerWritableStream } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { fakeCall } from '../../test/fakes/fake-call-context.ts';
import { backupService } from './backup-service.ts';
import type { CallPipeline, PrepareStream } from './call-pipeline.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a client that does not read its backup is told so, and its stream is reset when it cannot even take that', async () => {
  let prepare: PrepareStream = () => ({ run: () => Promise.reject(new Error('not set')) });
  const pipeline = {
    stream: (given: PrepareStream) => {
      prepare = given;
    },
  } as unknown as CallPipeline;
  backupService({ begin: () => ({ revision: 1, bytes: 0, pages: () => [] }) }, pipeline, () => new Date(0));
  const stream = { close: vi.fn(), once: vi.fn() };
  // Nothing is ever taken.
  const call = { write: vi.fn(), call: { stream } } as unknown as ServerWritableStream<Buffer, Buffer>;
  const ended = prepare(Buffer.alloc(0), fakeCall()).run(call);
  const refused = expect(ended).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
  await vi.advanceTimersByTimeAsync(60_000);
  await refused;
  expect(stream.close).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(stream.close).toHaveBeenCalledWith(constants.NGHTTP2_ENHANCE_YOUR_CALM);
});
