import { describe, expect, it } from 'vitest';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import type { TunnelClient, TunnelStream } from '../../client/client.ts';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createUsageHistory } from '../machine/usage-history.ts';
import { createRecord } from '../pod/pod-record.ts';
import type { ContainerAccess, ObservedContainer } from '../runtime/runtime.ts';
import { runTunnel } from './tunnel.ts';

const record = createRecord('u1', { metadata: { name: 'web' }, spec: { containers: [{ name: 'app' }] } });
record.containers.set('c1', { id: 'c1', containerName: 'app', attempt: 0, state: 'running' } as ObservedContainer);

const info = { name: 'big', size: 1, mode: 0o644, type: 'file', owner: { uid: 0, gid: 0 } } as const;

describe('the tunnel', () => {
  it('ends a copy whose reader stands still, and lets go of the engine and of the stream', async () => {
    const clock = createFakeClock();
    const stop = new AbortController();
    let engine: AbortSignal | undefined;
    let call: AbortSignal | undefined;
    const access = {
      async readFiles(_id: string, _path: string, signal: AbortSignal) {
        engine = signal;
        return { info, archive: async function* () {}, close: () => {} };
      },
    } as unknown as ContainerAccess;
    // Nothing that is written is ever taken.
    const stalled = new Promise<never>(() => {});
    const client: TunnelClient = {
      control: () => ({
        async *requests() {
          yield { streamId: 's1', podUid: 'u1', readFiles: { name: 'web', options: { path: '/big' } } };
          await stalled;
        },
        refuse: () => stalled,
      }),
      serve(_id, signal) {
        call = signal;
        return {
          write: () => stalled,
          fail: () => stalled,
          end() {},
          closed: new AbortController().signal,
        } as unknown as TunnelStream;
      },
    };
    const dialer = { dial: () => stalled, close() {} };
    const netCheck = async () => ({});
    const parts = {
      ...{ client, access, dialer, history: createUsageHistory(), netCheck, metrics: new MetricsRegistry() },
      ...{ get: () => record, nodeName: 'n1', clock },
    };
    void runTunnel({ ...parts, logger: createFakeLogger() }, stop.signal);
    await settle();
    expect(engine?.aborted).toBe(false);
    await clock.advance(29_000);
    expect(engine?.aborted).toBe(false);
    await clock.advance(2_000);
    expect(engine?.aborted).toBe(true);
    expect(call?.aborted).toBe(false);
    await clock.advance(5_000);
    expect(call?.aborted).toBe(true);
    stop.abort();
  });
});
