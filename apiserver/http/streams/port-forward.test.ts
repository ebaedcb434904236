import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { expect, it } from 'vitest';
import { isExhausted } from '../../../api/errors/index.ts';
import { flowOf } from '../../limits/levels.ts';
import type { KindStore } from '../../registry/kind-store.ts';
import { Tunnels } from '../../tunnel/tunnels.ts';
import type { CallContext } from '../../verbs/call-context.ts';
import type { ResourceRequest } from '../resource-routes.ts';
import { portForwardRoute } from './port-forward.ts';
import type { StreamWay } from './stream-route.ts';
import { Upgrade } from './upgrade.ts';

const pod = { metadata: { uid: 'u1' }, spec: { nodeName: 'n1' } };
const pods = {
  kind: { service: 'berth.core.v1.Pods', singular: 'pod', namespaced: true },
  read: async () => ({}),
  cache: { decoder: { decode: () => pod } },
} as unknown as KindStore;
const context = {
  flow: flowOf({ user: 'anna', groups: [] }),
  signal: new AbortController().signal,
  authorize() {},
} as unknown as CallContext;

/** A client that opens no streams over SPDY; what came of its request. */
function connectTo(tunnels: Tunnels): { readonly socket: Socket; readonly ended: Promise<unknown> } {
  const socket = new Duplex({ allowHalfOpen: false, read() {}, write: (_bytes, _, done) => done() }) as unknown as Socket;
  const request = new IncomingMessage(socket);
  request.headers.upgrade = 'SPDY/3.1';
  const upgrade = new Upgrade(request, socket, Buffer.alloc(0));
  const target = { namespace: 'default', name: 'web' };
  const of = { target, query: new URLSearchParams(), store: pods, request } as unknown as ResourceRequest;
  const way = { request, response: upgrade.response, upgrade, context } as unknown as StreamWay;
  const ended = portForwardRoute(of, { pods, tunnels })
    .prepare(context)
    .run(way)
    .catch((error: unknown) => error);
  return { socket, ended };
}

it('a connection that forwards nothing takes one of the places of its user until its client has gone', async () => {
  const tunnels = new Tunnels(() => 'id', 13);
  const all = Array.from({ length: 10 }, () => connectTo(tunnels));
  expect(await connectTo(tunnels).ended).toSatisfy(isExhausted);
  for (const { socket } of all) socket.destroy();
  expect(await Promise.all(all.map(({ ended }) => ended))).toEqual(all.map(() => undefined));
  const another = connectTo(tunnels);
  another.socket.destroy();
  expect(await another.ended).toBeUndefined();
});
