import { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { readInStep } from './library-service.ts';

it("reads no more requests of a library's stream than its client takes answers", async () => {
  let asked = 0;
  let take: (() => void) | undefined;
  const call = new Duplex({
    objectMode: true,
    read() {
      this.push(asked < 1_000 ? asked++ : null);
    },
    write(_answer, _encoding, taken) {
      take = taken;
    },
  });
  let answered = 0;
  readInStep(call as unknown as ServerDuplexStream<unknown, unknown>);
  call.on('data', (request) => {
    answered++;
    call.write(request);
  });
  for (let i = 0; i < 20; i++) await turn();
  expect(answered).toBe(1);
  expect(asked).toBeLessThan(5);
  while (answered < 1_000) {
    take?.();
    await turn();
  }
});
