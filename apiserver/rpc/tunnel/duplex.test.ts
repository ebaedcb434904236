import { Duplex as NodeDuplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type Duplex, framesOf, keepLittleUnread } from './duplex.ts';

it('reads one frame ahead of its reader, however many the other side sends', async () => {
  let sent = 0;
  const call = new NodeDuplex({
    objectMode: true,
    // As the gRPC library does it: each wish to read brings one message.
    read: () => setImmediate(() => call.push(Buffer.from([sent++]))),
  }) as NodeDuplex & { iterator: NodeDuplex['iterator'] };
  keepLittleUnread(call as unknown as Duplex);
  const frames = framesOf(call as unknown as Duplex);
  for (let read = 0; read < 3; read++) {
    expect((await frames.next()).value).toEqual(Buffer.from([read]));
    for (let i = 0; i < 100; i++) await turn();
    expect(sent).toBeLessThanOrEqual(read + 3);
  }
  call.destroy();
});
