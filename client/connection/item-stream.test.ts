import { status } from '@grpc/grpc-js';
import { afterEach, expect, test } from 'vitest';
import { isUnavailable } from '../../api/errors/index.ts';
import type { BindItem } from '../../api/generated/types.ts';
import { createFakeClock, type FakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { type Script, type ScriptedStream, startScriptedServer } from '../../test/fakes/scripted-server.ts';
import { type Client, connect } from '../index.ts';
import { ItemStream } from './item-stream.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

async function start(script: Script): Promise<Client> {
  const server = await startScriptedServer(script);
  const client = connect({ address: server.address, ca: server.pki.ca });
  cleanups.push(server.stop, client.close);
  return client;
}

const stream = 'berth.core.v1.Pods/BindStream';
const bindingsOf = (message: Record<string, unknown>): BindItem[] => (message.bindings ?? []) as BindItem[];
const nameOf = ({ binding }: BindItem): string => binding?.object?.metadata?.name ?? '';
const answer = (items: readonly BindItem[]): object => ({
  results: items.map((item) => ({ id: item.id, bound: { resourceVersion: nameOf(item) } })),
});
const pod = (name: string) => ({ namespace: 'default', name });

test('what is asked for in one turn travels in one message, and answers find their way in any order', async () => {
  const messages: string[][] = [];
  const { pods } = await start({
    duplex: {
      [stream]: (call) =>
        call.onMessage((message) => {
          messages.push(bindingsOf(message).map(nameOf));
          for (const item of bindingsOf(message).reverse()) call.write(answer([item]));
        }),
    },
  });
  const bindings = pods.bindStream();
  const bound = await Promise.all(['a', 'b', 'c'].map((name) => bindings.bind(pod(name), 'n1')));
  expect(bound.map(({ resourceVersion }) => resourceVersion)).toEqual(['a', 'b', 'c']);
  await bindings.bind(pod('d'), 'n1');
  expect(messages).toEqual([['a', 'b', 'c'], ['d']]);
});

test('a server that does not know the stream gets each as a call of its own', async () => {
  const alone: string[] = [];
  const { pods } = await start({
    unary: {
      'berth.core.v1.Pods/Bind': (request) => {
        const name = nameOf({ binding: request } as BindItem);
        alone.push(name);
        return { metadata: { name, resourceVersion: '7' } };
      },
    },
  });
  const bindings = pods.bindStream();
  const bound = await Promise.all([bindings.bind(pod('a'), 'n1'), bindings.bind(pod('b'), 'n1')]);
  expect(bound).toEqual([{ resourceVersion: '7' }, { resourceVersion: '7' }]);
  await bindings.bind(pod('c'), 'n1');
  expect(alone.sort()).toEqual(['a', 'b', 'c']);
  await bindings.close();
});

test('at most 32 of them at once, as a server that does not know the stream bounds calls', async () => {
  let [running, most] = [0, 0];
  const { pods } = await start({
    unary: {
      'berth.core.v1.Pods/Bind': async (request) => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
        return { metadata: { name: nameOf({ binding: request } as BindItem), resourceVersion: '7' } };
      },
    },
  });
  const bindings = pods.bindStream();
  const bound = await Promise.all(Array.from({ length: 200 }, (_, i) => bindings.bind(pod(`p${i}`), 'n1')));
  expect(bound).toHaveLength(200);
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(32);
  await bindings.close();
});

test('an item that the server says is not implemented is an error of that item and no reason to give the stream up', async () => {
  const streams: ScriptedStream[] = [];
  const { pods } = await start({
    duplex: {
      [stream]: (call) => {
        streams.push(call);
        call.onMessage((message) =>
          call.write({
            results: bindingsOf(message).map(({ id }) => ({ id, error: { code: status.UNIMPLEMENTED, message: 'no' } })),
          }),
        );
      },
    },
  });
  const bindings = pods.bindStream();
  for (let i = 0; i < 2; i++) await expect(bindings.bind(pod('a'), 'n1')).rejects.toMatchObject({ code: 'UNIMPLEMENTED' });
  expect(streams).toHaveLength(1);
});

test('a stream that breaks fails what was under way, whatever had its answer stays answered, and the next write opens another', async () => {
  let streams = 0;
  const { pods } = await start({
    duplex: {
      [stream]: (call) => {
        const first = ++streams === 1;
        call.onMessage((message) => {
          const items = bindingsOf(message);
          call.write(answer(first ? items.slice(0, 1) : items));
          if (first) call.fail({ code: status.UNAVAILABLE, details: 'stopping' });
        });
      },
    },
  });
  const bindings = pods.bindStream();
  const [kept, lost] = await Promise.allSettled([bindings.bind(pod('a'), 'n1'), bindings.bind(pod('b'), 'n1')]);
  expect(kept).toMatchObject({ status: 'fulfilled', value: { resourceVersion: 'a' } });
  expect(lost.status === 'rejected' && isUnavailable(lost.reason)).toBe(true);
  expect(await bindings.bind(pod('c'), 'n1')).toEqual({ resourceVersion: 'c' });
  expect(streams).toBe(2);
});

test('a server that ends the stream without an answer leaves the outcome unknown', async () => {
  const { pods } = await start({ duplex: { [stream]: (call) => call.onMessage(() => call.end()) } });
  await expect(pods.bindStream().bind(pod('a'), 'n1')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('close waits for the answers, and then ends the stream', async () => {
  const events: string[] = [];
  const { pods } = await start({
    duplex: {
      [stream]: (call) => {
        let waiting: BindItem[] = [];
        call.onMessage((message) => {
          waiting = bindingsOf(message);
          events.push('asked');
          setImmediate(() => call.write(answer(waiting)));
        });
        call.onEnd(() => {
          events.push('half-closed');
          call.end();
        });
      },
    },
  });
  const bindings = pods.bindStream();
  const bound = bindings.bind(pod('a'), 'n1').then(() => events.push('answered'));
  await bindings.close();
  await bound;
  expect(events).toEqual(['asked', 'answered', 'half-closed']);
  await expect(bindings.bind(pod('b'), 'n1')).rejects.toMatchObject({ code: 'CANCELLED' });
});

test('a server that answers everything but does not end the stream is not waited for without end', async () => {
  const { pods } = await start({
    duplex: { [stream]: (call) => call.onMessage((message) => call.write(answer(bindingsOf(message)))) },
  });
  const bindings = pods.bindStream({ timeoutMs: 3_000 });
  await bindings.bind(pod('a'), 'n1');
  await bindings.close();
});

test('a caller that gives one up does not disturb the others', async () => {
  const giveUp = new AbortController();
  const { pods } = await start({
    duplex: {
      [stream]: (call) =>
        call.onMessage((message) => {
          giveUp.abort();
          call.write(answer(bindingsOf(message)));
        }),
    },
  });
  const bindings = pods.bindStream();
  const given = bindings.bind(pod('given-up'), 'n1', { signal: giveUp.signal });
  const kept = bindings.bind(pod('kept'), 'n1');
  await expect(given).rejects.toMatchObject({ code: 'CANCELLED' });
  expect(await kept).toEqual({ resourceVersion: 'kept' });
});

test('what is given up before it was sent is not sent', async () => {
  const messages: string[][] = [];
  const { pods } = await start({
    duplex: {
      [stream]: (call) =>
        call.onMessage((message) => {
          messages.push(bindingsOf(message).map(nameOf));
          call.write(answer(bindingsOf(message)));
        }),
    },
  });
  const bindings = pods.bindStream();
  const giveUp = new AbortController();
  const given = bindings.bind(pod('given-up'), 'n1', { signal: giveUp.signal });
  const kept = bindings.bind(pod('kept'), 'n1');
  giveUp.abort();
  await expect(given).rejects.toMatchObject({ code: 'CANCELLED' });
  await kept;
  expect(messages).toEqual([['kept']]);
});

test('the end of the whole ends everything under way', async () => {
  const stop = new AbortController();
  const { pods } = await start({ duplex: { [stream]: (call) => call.onMessage(() => stop.abort()) } });
  const bindings = pods.bindStream({ signal: stop.signal });
  await expect(bindings.bind(pod('a'), 'n1')).rejects.toMatchObject({ code: 'CANCELLED' });
  await expect(bindings.bind(pod('b'), 'n1')).rejects.toMatchObject({ code: 'CANCELLED' });
});

test('a server that never answers is given up after the time-out, and asked again over another stream', async () => {
  let streams = 0;
  const { pods } = await start({
    duplex: {
      [stream]: (call) => {
        const silent = ++streams === 1;
        call.onMessage((message) => silent || call.write(answer(bindingsOf(message))));
      },
    },
  });
  const bindings = pods.bindStream({ timeoutMs: 3_000 });
  await expect(bindings.bind(pod('a'), 'n1')).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  expect(await bindings.bind(pod('b'), 'n1')).toEqual({ resourceVersion: 'b' });
});

test('at most 1,000 are under way, and the others follow as answers come', async () => {
  const [all, bound] = [2_300, 1_000];
  const waiting: BindItem[] = [];
  let [seen, most] = [0, 0];
  const { pods } = await start({
    duplex: {
      [stream]: (call) =>
        call.onMessage((message) => {
          seen += bindingsOf(message).length;
          waiting.push(...bindingsOf(message));
          most = Math.max(most, waiting.length);
          if (waiting.length >= bound || seen === all) setImmediate(() => call.write(answer(waiting.splice(0))));
        }),
    },
  });
  const bindings = pods.bindStream();
  const answers = await Promise.all(Array.from({ length: all }, (_, i) => bindings.bind(pod(`p${i}`), 'n1')));
  expect(answers).toHaveLength(all);
  expect(most).toBe(bound);
});

/** A stream over nothing: what is sent and what is answered is up to the test. */
function startAlone(clock: FakeClock, timeoutMs: number) {
  const cancelled = new AbortController();
  const answers: object[][] = [];
  let wake = (): void => {};
  let sent = 0;
  const duplex = {
    write: async () => void sent++,
    end: () => {},
    cancel: () => {
      cancelled.abort();
      wake();
    },
    closed: cancelled.signal,
    async *messages() {
      for (;;) {
        while (answers.length > 0) yield { results: answers.shift()! };
        if (cancelled.signal.aborted) throw new Error('cancelled');
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
  const method = { path: '/berth.meta.v1.Objects/Bulk', request: '', response: '' };
  const items = new ItemStream<{ id?: number }>({ method, open: () => duplex, clock, timeoutMs });
  const send = () => items.send({ encode: () => Buffer.alloc(1), unary: () => Promise.reject(new Error('not asked')) });
  const reply = (id: number): void => {
    answers.push([{ id }]);
    wake();
  };
  return { send, reply, sent: () => sent };
}

test('a server that answers one after the other is waited for, and given up when it answers none any more', async () => {
  const clock = createFakeClock();
  const { send, reply, sent } = startAlone(clock, 1_000);
  const all = Promise.allSettled(Array.from({ length: 4 }, send));
  while (sent() === 0) await settle();
  for (let id = 1; id <= 3; id++) {
    await clock.advance(900);
    reply(id);
    await settle();
  }
  await clock.advance(1_000);
  await settle();
  const [first, second, third, last] = await all;
  expect([first, second, third]).toMatchObject([1, 2, 3].map((id) => ({ status: 'fulfilled', value: { id } })));
  expect(last).toMatchObject({ status: 'rejected', reason: { code: 'DEADLINE_EXCEEDED' } });
});
