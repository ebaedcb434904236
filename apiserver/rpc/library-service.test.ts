import { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { Server, ServerDuplexStream, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { addLibraryService, readInStep } from './library-service.ts';

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

describe('a service of a library that loading has to wait for', () => {
  const path = '/test.Test/Chat';

  /** The service as it is added, with what its library answers; `wait` ends what loading waits for. */
  function addChat() {
    const log: string[] = [];
    let wait = { resolve: () => {}, reject: (_error: Error) => {} };
    let handlers: UntypedServiceImplementation = {};
    const server = {
      addService: (_: unknown, added: UntypedServiceImplementation) => {
        handlers = added;
      },
    };
    addLibraryService(server as unknown as Server, {
      name: 'test.Test',
      methods: { Chat: { requestStream: true, responseStream: true } },
      guard: () => () => undefined,
      prepare: () =>
        new Promise((resolve, reject) => {
          wait = { resolve, reject };
        }),
      load(collector) {
        log.push('loaded');
        collector.addService({ Chat: { path } } as unknown as ServiceDefinition, { Chat: () => log.push('called') });
      },
    });
    const call = () => {
      const stream = new Duplex({ read() {} });
      stream.on('error', ({ message }) => log.push(message));
      (handlers.Chat as unknown as (stream: Duplex) => void)(stream);
    };
    return { log, call, ready: () => wait.resolve(), fail: (error: Error) => wait.reject(error) };
  }

  it('answers its first call when it is loaded, and the next at once', async () => {
    const { log, call, ready } = addChat();
    call();
    await turn();
    expect(log).toEqual([]);
    ready();
    await turn();
    expect(log).toEqual(['loaded', 'called']);
    call();
    expect(log).toEqual(['loaded', 'called', 'called']);
  });

  it('fails a call when loading fails, and tries again with the next', async () => {
    const { log, call, ready, fail } = addChat();
    call();
    fail(new Error('cannot load'));
    await turn();
    expect(log).toEqual(['cannot load']);
    call();
    ready();
    await turn();
    expect(log).toEqual(['cannot load', 'loaded', 'called']);
  });
});
